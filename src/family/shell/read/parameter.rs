//! Rules for the parameters of a tool that a schema cannot say (spec cycod 34–49).

use super::super::definition::{Datum, Kind, Parameter};
use super::super::references::is_computed;
use super::super::report::Report;
use super::super::yaml::{Entry, Node};

/// Removes the rules that do not fit the types of their parameters, with a warning: they have no
/// effect (spec cycod 228).
pub(super) fn remove_misfits(root: &mut Node, report: &mut Report<'_>) {
    for parameter in root.entries_below("parameters").into_iter().flatten() {
        let kind = parameter.value.get("type").and_then(Node::text);
        let kind = kind.unwrap_or(Kind::default().as_str()).to_owned();
        let fitting: &[&str] = match kind.as_str() {
            "string" => &["minLength", "maxLength", "pattern", "enum"],
            "number" => &["minimum", "maximum", "multipleOf", "enum"],
            "array" => &["minItems", "maxItems", "uniqueItems", "enum"],
            _ => &["enum"],
        };
        let Some(rules) = parameter.value.entries_below("validation") else {
            continue;
        };
        rules.retain(|rule| {
            let fits = fitting.contains(&rule.key.as_str());
            if !fits {
                report.warning(
                    rule.place,
                    format!("`{}` has no effect on a {kind}", rule.key),
                    format!("this type knows: {}", fitting.join(", ")),
                );
            }
            fits
        });
    }
}

/// Checks the entries of `parameters:`, and completes what was read from them.
pub(super) fn check(entries: &[Entry], parameters: &mut [Parameter], report: &mut Report<'_>) {
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    for entry in entries {
        let name = &entry.key;
        if !is_name(name) {
            report.error(
                entry.place,
                format!(
                    "`{name}` cannot be the name of a parameter: commands could not refer to it"
                ),
                "use letters, digits, `_` and `-`, with a letter or `_` first",
            );
        }
        if name.len() > MAX_NAME_LEN {
            report.warning(
                entry.place,
                format!("Parameter '{name}' has a name that providers of models refuse: it is longer than {MAX_NAME_LEN} characters"),
                "give it a shorter one",
            );
        }
        if entry.value.filled_text("description").is_none() {
            report.error(
                entry.place,
                format!("Parameter '{name}' must have a description."),
                "add `description: …`: a model reads it",
            );
        }
        if let Some(parameter) = parameters.iter_mut().find(|own| own.name == *name) {
            keep_texts(parameter, &entry.value);
            bounds(parameter, &entry.value, report);
            default(parameter, &entry.value, &names, report);
        }
    }
}

/// Limit of the length of a property name, as providers of models set it (spec cycod 142).
const MAX_NAME_LEN: usize = 64;

/// Returns true if `name` can be written as `{NAME}`.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Takes the values of a string as they are written: `default: 0755` and `default: no` are these
/// texts.
fn keep_texts(parameter: &mut Parameter, node: &Node) {
    if parameter.kind != Kind::String {
        return;
    }
    let datum = |node: &Node| match node.text() {
        Some(text) => Datum::Text(text.to_owned()),
        None => node.to_datum(),
    };
    let list = |node: Option<&Node>| -> Vec<Datum> {
        let items = node.map(Node::items).unwrap_or_default();
        items.iter().map(datum).collect()
    };
    parameter.default = node.get("default").map(datum);
    parameter.examples = list(node.get("examples"));
    parameter.validation.choices = list(node.get("validation").and_then(|own| own.get("enum")));
}

/// Reports rules that allow nothing.
fn bounds(parameter: &mut Parameter, node: &Node, report: &mut Report<'_>) {
    let rules = &mut parameter.validation;
    // Every number is a multiple of nothing.
    rules.multiple_of = rules.multiple_of.filter(|step| *step > 0.0);
    fn is_crossed<T: PartialOrd>(least: Option<T>, most: Option<T>) -> bool {
        least.zip(most).is_some_and(|(least, most)| least > most)
    }
    let crossed = [
        (
            "minLength",
            "maxLength",
            is_crossed(rules.min_length, rules.max_length),
        ),
        (
            "minItems",
            "maxItems",
            is_crossed(rules.min_items, rules.max_items),
        ),
        (
            "minimum",
            "maximum",
            is_crossed(rules.minimum, rules.maximum),
        ),
    ];
    for (least, most, is_crossed) in crossed {
        if is_crossed {
            report.error(
                node.get("validation").unwrap_or(node).place,
                format!(
                    "Parameter '{}' allows nothing: `{least}` is above `{most}`.",
                    parameter.name
                ),
                "swap the two",
            );
        }
    }
}

/// Checks the default, unless it is known only in a call.
fn default(parameter: &mut Parameter, node: &Node, names: &[&str], report: &mut Report<'_>) {
    let default = parameter.default.as_ref();
    parameter.is_default_computed = default.is_some_and(|value| is_computed(value, names));
    if parameter.is_default_computed {
        return;
    }
    let Some(value) = parameter.default.take() else {
        return;
    };
    match parameter.accept(value) {
        Ok(value) => parameter.default = Some(value),
        Err(texts) => texts.into_iter().for_each(|text| {
            report.error(
                node.get("default").unwrap_or(node).place,
                format!("The default is not allowed: {text}"),
                "change the default, or the rule",
            );
        }),
    }
}
