//! Parser for a line of the repl: a command of the repl itself, or a call.

use serde_json::value::RawValue;

use super::words::{self, Word};

/// A line, parsed as far as the tool's schema is not needed.
pub(super) enum Line<'a> {
    /// An empty line or a comment.
    Empty,
    /// `/name words…`
    Command {
        name: &'a str,
        words: Vec<String>,
        /// The words as typed.
        rest: &'a str,
    },
    /// The name of a tool, and its unparsed arguments.
    Call { tool: &'a str, arguments: &'a str },
}

impl<'a> Line<'a> {
    /// Parses a line. A line that begins with `#` is a comment.
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
                rest: rest.trim(),
            },
            None => Line::Call {
                tool: first,
                arguments: rest.trim(),
            },
        }
    }
}

/// Returns true if the line continues: a bracket or a quote of the arguments is not closed.
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
