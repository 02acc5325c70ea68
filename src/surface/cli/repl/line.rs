//! What a line of the repl asks for: a command of the repl itself, or a call.

use serde_json::value::RawValue;

use super::words::{self, Word};

/// A line that was understood so far.
pub(super) enum Line<'a> {
    /// Nothing is to be done.
    Empty,
    /// `/name words…`
    Command { name: &'a str, words: Vec<String> },
    /// A tool's name, and its arguments as they were written.
    Call { tool: &'a str, arguments: &'a str },
}

impl<'a> Line<'a> {
    /// Reads a line; what begins with `#` is a remark.
    pub(super) fn read(line: &'a str) -> Line<'a> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Line::Empty;
        }
        let end = line.find(char::is_whitespace).unwrap_or(line.len());
        let (first, rest) = line.split_at(end);
        match first.strip_prefix('/') {
            Some(name) => Line::Command {
                name,
                words: texts(words::cut(rest).words),
            },
            None => Line::Call {
                tool: first,
                arguments: rest.trim(),
            },
        }
    }
}

/// Whether more lines have to follow: a bracket or a quote of the arguments is not closed.
pub(super) fn is_open(line: &str) -> bool {
    let Line::Call { arguments, .. } = Line::read(line) else {
        return false;
    };
    if arguments.starts_with('{') {
        let json = serde_json::from_str::<&RawValue>(arguments);
        return json.is_err_and(|error| error.is_eof());
    }
    words::cut(arguments).is_open
}

fn texts(words: Vec<Word>) -> Vec<String> {
    words.into_iter().map(|word| word.text).collect()
}
