//! Search for the `{references}` in a text, to check a definition.
//!
//! Their values belong to `run`; here only names matter, to report unknown ones.

use super::cycles::circle;
use super::definition::{Datum, Parameter};

/// One `{…}` that may be a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    /// The part after the last dot: `output` in `{step.output}`.
    pub(crate) property: Option<&'a str>,
}

/// Names that every tool can refer to (spec cycod 51; `TEMP_DIR` is `file-paths.temp-directory`).
pub(crate) const PREDEFINED: &[&str] = &[
    "TOOL_NAME",
    "WORKSPACE",
    "TEMP",
    "HOME",
    "OS",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TEMP_DIR",
];

/// Properties of a step.
pub(crate) const PROPERTIES: &[&str] = &[
    "output",
    "error",
    "exit-code",
    "duration",
    "start-time",
    "end-time",
];

/// Returns all of them, in order. `${X}` belongs to the shell.
pub(crate) fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let opens = text.match_indices('{').filter(|(at, _)| {
        let before = text[..*at].bytes().next_back();
        before != Some(b'$')
    });
    opens.filter_map(|(at, _)| reference(&text[at + 1..]))
}

/// Returns true if a text in a default refers to something that is known only in a call.
pub(crate) fn is_computed(value: &Datum, names: &[impl AsRef<str>]) -> bool {
    let is_known =
        |name: &str| PREDEFINED.contains(&name) || names.iter().any(|known| known.as_ref() == name);
    match value {
        Datum::Text(text) => {
            references(text).any(|found| found.property.is_none() && is_known(found.name))
        }
        Datum::List(items) => items.iter().any(|item| is_computed(item, names)),
        Datum::Object(entries) => entries.iter().any(|(_, value)| is_computed(value, names)),
        Datum::Null | Datum::Bool(_) | Datum::Number(_) => false,
    }
}

/// Returns the names of parameters whose defaults refer to each other in a cycle, with the first
/// one twice (spec cycod 52).
pub(crate) fn circle_of_defaults(parameters: &[Parameter]) -> Option<Vec<&str>> {
    let edges: Vec<Vec<usize>> = parameters
        .iter()
        .map(|parameter| {
            let mut names = Vec::new();
            if let Some(default) = &parameter.default {
                collect(default, &mut names);
            }
            let place = |name: &&str| parameters.iter().position(|other| other.name == *name);
            names.iter().filter_map(place).collect()
        })
        .collect();
    let circle = circle(&edges)?;
    Some(
        circle
            .into_iter()
            .map(|at| parameters[at].name.as_str())
            .collect(),
    )
}

fn collect<'a>(value: &'a Datum, names: &mut Vec<&'a str>) {
    match value {
        Datum::Text(text) => {
            let plain = references(text).filter(|reference| reference.property.is_none());
            names.extend(plain.map(|reference| reference.name));
        }
        Datum::List(items) => items.iter().for_each(|item| collect(item, names)),
        Datum::Object(entries) => entries.iter().for_each(|(_, value)| collect(value, names)),
        Datum::Null | Datum::Bool(_) | Datum::Number(_) => {}
    }
}

fn reference(text: &str) -> Option<Reference<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = text.find(|c| !is_part(c))?;
    let head = &text[..end];
    // `{X}`, `{X:transform}`, `{X ? 'a' : 'b'}`
    let rest = text[end..].trim_start();
    let is_closed = text[end..].starts_with(['}', ':']) || rest.starts_with('?');
    if !is_closed || !head.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    Some(match head.rsplit_once('.') {
        Some((name, property)) => Reference {
            name,
            property: Some(property),
        },
        None => Reference {
            name: head,
            property: None,
        },
    })
}
