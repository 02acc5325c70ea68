//! The `{references}` in a text, as far as a definition can be checked by them.
//!
//! What they come to is for `run`; here only names count, to say that one is not known.

/// One `{…}` that may be a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    /// What follows the last dot: `output` in `{step.output}`.
    pub(crate) property: Option<&'a str>,
}

/// What every tool can refer to (spec cycod 51; `TEMP_DIR` is `file-paths.temp-directory`).
pub(crate) const PREDEFINED: &[&str] = &[
    "TOOL_NAME", "WORKSPACE", "TEMP", "HOME", "OS", "DATE", "TIME", "TIMESTAMP", "TEMP_DIR",
];

/// What can be asked of a step.
pub(crate) const PROPERTIES: &[&str] = &[
    "output", "error", "exit-code", "duration", "start-time", "end-time",
];

/// All of them, in order. `${X}` is the shell's.
pub(crate) fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let opens = text.match_indices('{').filter(|(at, _)| {
        let before = text[..*at].bytes().next_back();
        before != Some(b'$')
    });
    opens.filter_map(|(at, _)| reference(&text[at + 1..]))
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
