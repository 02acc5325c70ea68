//! The parameters of a tool (spec cycod 34–49).

use super::super::definition::{Datum, Kind, Parameter, Pattern, Validation};
use super::super::references::is_computed;
use super::super::report::Report;
use super::super::yaml::{Entry, Node};
use super::{flag, text};

/// Returns all parameters that can be read.
pub(super) fn parameters(node: &Node, report: &mut Report<'_>) -> Vec<Parameter> {
    let names: Vec<&str> = node
        .entries()
        .iter()
        .map(|entry| entry.key.as_str())
        .collect();
    let entries = node.entries().iter();
    entries
        .map(|entry| parameter(entry, &names, report))
        .collect()
}

fn parameter(entry: &Entry, names: &[&str], report: &mut Report<'_>) -> Parameter {
    let (name, node) = (&entry.key, &entry.value);
    if !is_name(name) {
        report.error(
            entry.place,
            format!("`{name}` cannot be the name of a parameter: commands could not refer to it"),
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
    let description = text(node, "description").filter(|text| !text.trim().is_empty());
    if description.is_none() {
        report.error(
            entry.place,
            format!("Parameter '{name}' must have a description."),
            "add `description: …`: a model reads it",
        );
    }
    let kind = kind(name, node, report);
    let security = node.get("security");
    let mut parameter = Parameter {
        name: name.clone(),
        kind,
        description: description.unwrap_or_default(),
        required: flag(node, "required").unwrap_or_default(),
        default: default(node, kind),
        is_default_computed: false,
        validation: Validation::default(),
        transform: text(node, "transform"),
        format: text(node, "format"),
        examples: examples(node, kind),
        detailed_help: text(node, "detailed-help"),
        escape_shell: security
            .and_then(|security| flag(security, "escape-shell"))
            .unwrap_or_default(),
        deprecated: flag(node, "deprecated").unwrap_or_default(),
        deprecated_alternative: text(node, "deprecated-alternative"),
        delimiter: text(node, "delimiter").unwrap_or_else(|| " ".to_owned()),
    };
    if let Some(rules) = node.get("validation") {
        parameter.validation = validation(&parameter, rules, report);
    }
    let default = parameter.default.as_ref();
    parameter.is_default_computed = default.is_some_and(|value| is_computed(value, names));
    if !parameter.is_default_computed
        && let Some(value) = parameter.default.take()
    {
        let place = node.get("default").map_or(entry.place, |node| node.place);
        match parameter.accept(value) {
            Ok(value) => parameter.default = Some(value),
            Err(texts) => texts.into_iter().for_each(|text| {
                report.error(
                    place,
                    format!("The default is not allowed: {text}"),
                    "change the default, or the rule",
                );
            }),
        }
    }
    parameter
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

fn kind(name: &str, node: &Node, report: &mut Report<'_>) -> Kind {
    let Some((node, text)) = node.get("type").and_then(|node| Some((node, node.text()?))) else {
        return Kind::default();
    };
    let found = Kind::NAMES.iter().find(|(known, _)| *known == text);
    found.map(|(_, kind)| *kind).unwrap_or_else(|| {
        let known = Kind::NAMES.map(|(name, _)| name).join(", ");
        report.error(
            node.place,
            format!("Parameter '{name}' has invalid type: '{text}'. Must be one of: {known}."),
            "use one of these words",
        );
        Kind::default()
    })
}

/// Converts a default. A string keeps its own text: `default: 0755` and `default: no` are these
/// texts.
fn datum(node: &Node, kind: Kind) -> Datum {
    match (kind, node.text()) {
        (Kind::String, Some(text)) => Datum::Text(text.to_owned()),
        _ => node.to_datum(),
    }
}

fn default(node: &Node, kind: Kind) -> Option<Datum> {
    node.get("default").map(|node| datum(node, kind))
}

fn examples(node: &Node, kind: Kind) -> Vec<Datum> {
    let Some(node) = node.get("examples") else {
        return Vec::new();
    };
    node.each().iter().map(|item| datum(item, kind)).collect()
}

/// Reads the rules that fit the type. Any other rule is a warning: it has no effect (check 228).
fn validation(parameter: &Parameter, node: &Node, report: &mut Report<'_>) -> Validation {
    const FITS: [(Kind, &[&str]); 5] = [
        (Kind::String, &["minLength", "maxLength", "pattern", "enum"]),
        (Kind::Number, &["minimum", "maximum", "multipleOf", "enum"]),
        (Kind::Boolean, &["enum"]),
        (
            Kind::Array,
            &["minItems", "maxItems", "uniqueItems", "enum"],
        ),
        (Kind::Object, &["enum"]),
    ];
    let fitting = FITS.iter().find(|(kind, _)| *kind == parameter.kind);
    let fitting = fitting.map_or(&[][..], |(_, rules)| *rules);
    let rule = |key: &str| fitting.contains(&key).then(|| node.get(key)).flatten();
    for entry in node.entries() {
        let is_rule = FITS
            .iter()
            .any(|(_, rules)| rules.contains(&entry.key.as_str()));
        if is_rule && !fitting.contains(&entry.key.as_str()) {
            report.warning(
                entry.place,
                format!(
                    "`{}` has no effect on a {}",
                    entry.key,
                    parameter.kind.as_str()
                ),
                format!("this type knows: {}", fitting.join(", ")),
            );
        }
    }
    let count = |key: &str| rule(key).and_then(|node| u64::try_from(node.whole()?).ok());
    let number = |key: &str| rule(key).and_then(Node::number);
    let rules = Validation {
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern: rule("pattern").and_then(|node| pattern(&parameter.name, node, report)),
        minimum: number("minimum"),
        maximum: number("maximum"),
        multiple_of: number("multipleOf").filter(|step| *step > 0.0),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        unique_items: rule("uniqueItems").and_then(Node::flag).unwrap_or_default(),
        choices: choices(parameter.kind, rule("enum")),
    };
    let crossed = [
        (
            "minLength",
            "maxLength",
            rules.min_length > rules.max_length && rules.max_length.is_some(),
        ),
        (
            "minItems",
            "maxItems",
            rules.min_items > rules.max_items && rules.max_items.is_some(),
        ),
        (
            "minimum",
            "maximum",
            rules.maximum.is_some_and(|most| rules.minimum > Some(most)),
        ),
    ];
    for (least, most, is_crossed) in crossed {
        if is_crossed {
            report.error(
                node.place,
                format!(
                    "Parameter '{}' allows nothing: `{least}` is above `{most}`.",
                    parameter.name
                ),
                "swap the two",
            );
        }
    }
    rules
}

fn choices(kind: Kind, node: Option<&Node>) -> Vec<Datum> {
    let items = node.map(Node::items).unwrap_or_default();
    items.iter().map(|item| datum(item, kind)).collect()
}

fn pattern(name: &str, node: &Node, report: &mut Report<'_>) -> Option<Pattern> {
    let text = node.text()?;
    Pattern::compile(text)
        .map_err(|why| {
            report.error(
                node.place,
                format!("Parameter '{name}' has an invalid pattern: {text}: {why}"),
                "write an ECMAScript regular expression; quote it, and double its backslashes in \"…\"",
            );
        })
        .ok()
}
