//! The second try for command lines that are not valid YAML (spec cycod 11).
//!
//! Authors often write `bash: curl -H "Authorization: Bearer x" …`, as do two of the
//! specification's own examples: a plain text must not hold `: `. The rest of such a line is put
//! into quotes, and the author gets a warning.

use crate::family::shell::definition::Place;

/// Keys whose value is a command, or text of the author's own.
const LITERAL: &[&str] = &[
    "bash", "cmd", "pwsh", "run", "script", "fallback", "default", "windows", "linux", "macos",
];

/// Returns the text with those lines quoted, and their places; `None` without such a line.
pub(crate) fn repair(text: &str) -> Option<(String, Vec<Place>)> {
    let mut repaired = String::with_capacity(text.len() + 64);
    let mut places = Vec::new();
    // The indentation of the key whose block text (`|`, `>`) we are in.
    let mut block: Option<usize> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        let indent = content.len() - content.trim_start_matches(' ').len();
        if let Some(outer) = block {
            if content.trim().is_empty() || indent > outer {
                repaired.push_str(line);
                continue;
            }
            block = None;
        }
        if opens_block(content) {
            block = Some(indent);
        }
        match command_at(content) {
            Some(start) => {
                let value = content[start..].trim_end();
                repaired.push_str(&content[..start]);
                repaired.push('\'');
                repaired.push_str(&value.replace('\'', "''"));
                repaired.push('\'');
                repaired.push_str(&line[content.len()..]);
                let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                places.push(Place {
                    line: number(index + 1),
                    column: number(content[..start].chars().count() + 1),
                });
            }
            None => repaired.push_str(line),
        }
    }
    (!places.is_empty()).then_some((repaired, places))
}

/// Returns the start of the value, if the line is `key: text` with a `: ` in its unquoted text.
fn command_at(line: &str) -> Option<usize> {
    let key_start = line.len() - line.trim_start_matches([' ', '-']).len();
    let (key, _) = line[key_start..].split_once(": ")?;
    if !LITERAL.contains(&key) {
        return None;
    }
    let after = &line[key_start + key.len() + 1..];
    let start = line.len() - after.trim_start().len();
    let value = &line[start..];
    let is_plain = !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#']);
    let breaks = value.contains(": ") || value.trim_end().ends_with(':');
    (is_plain && breaks).then_some(start)
}

/// Returns true if the value of the line's key is a block text that starts on the next line.
fn opens_block(line: &str) -> bool {
    let value = match line.rsplit_once(": ") {
        Some((_, value)) => value,
        None => line.trim_start_matches([' ', '-']),
    };
    let header = value.split(" #").next().unwrap_or_default().trim();
    header.starts_with(['|', '>'])
        && header[1..]
            .chars()
            .all(|c| matches!(c, '+' | '-' | '0'..='9'))
}
