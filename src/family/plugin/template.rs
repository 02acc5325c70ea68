//! `{{parameter}}` in texts of plugin files.
//!
//! A name is letters, digits, `_` and `-`, with optional spaces around it. Anything else in double
//! braces is text and not a placeholder, as in Go templates (`docker ps --format '{{.Names}}'`).

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Parameter(String),
}

/// Returns the parameter whose placeholder `text` begins with, and the text after it.
pub(super) fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (inside, rest) = text.strip_prefix("{{")?.split_once("}}")?;
    let name = inside.trim_matches(' ');
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, rest))
}

/// Splits a text into fixed parts and placeholders.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((name, after)) = placeholder(rest) {
            parts.push(Part::Parameter(name.to_owned()));
            rest = after;
        } else {
            push(&mut parts, c);
            rest = &rest[c.len_utf8()..];
        }
    }
    parts
}

/// Adds a character to the text at the end.
pub(super) fn push(parts: &mut Vec<Part>, c: char) {
    match parts.last_mut() {
        Some(Part::Text(text)) => text.push(c),
        _ => parts.push(Part::Text(c.into())),
    }
}

/// Returns the names of the parameters, as often as they occur.
pub(super) fn parameters(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Parameter(name) => Some(name.as_str()),
        Part::Text(_) => None,
    })
}
