//! Splits a line of the repl into words.
//!
//! Quotes and backslashes work as in a shell. Variables and globs are not supported. A bracket at
//! the start of a word or after `=` begins JSON, which extends to its end, including spaces and
//! quotes.

use serde_json::value::RawValue;

use haft_tool::quotes::unquote;

/// One word of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Start of the word in the line, in bytes.
    pub(super) start: usize,
    /// Text without quotes.
    pub(super) text: String,
}

/// Words of a line.
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    /// True if a quote or a bracket is not closed.
    pub(super) is_open: bool,
}

/// Splits `line` into words.
pub(super) fn cut(line: &str) -> Words {
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        if at == line.len() {
            return Words {
                words,
                is_open: false,
            };
        }
        let (word, end, is_open) = word(line, at);
        words.push(word);
        if is_open {
            return Words { words, is_open };
        }
        at = end;
    }
}

/// Returns the word that begins at `start`, its end, and true if the line ends within it.
fn word(line: &str, start: usize) -> (Word, usize, bool) {
    let mut text = String::new();
    let mut at = start;
    let mut has_key = false;
    let mut is_open = false;
    loop {
        let rest = &line[at..];
        let may_be_json = at == start || (has_key && text.ends_with('='));
        if may_be_json && is_json(rest, &text) {
            match json(rest) {
                Json::Whole(length) => {
                    text.push_str(&rest[..length]);
                    at += length;
                    continue;
                }
                Json::Open => {
                    text.push_str(rest);
                    at = line.len();
                    is_open = true;
                    break;
                }
                Json::Wrong => {}
            }
        }
        let Some(first) = rest.chars().next().filter(|c| !c.is_whitespace()) else {
            break;
        };
        at += first.len_utf8();
        match first {
            '\'' | '"' => match unquote(&line[at..], first, &mut text) {
                Some(length) => at += length,
                None => {
                    at = line.len();
                    is_open = true;
                }
            },
            '\\' => match line[at..].chars().next() {
                Some(next) => {
                    text.push(next);
                    at += next.len_utf8();
                }
                None => is_open = true,
            },
            plain => {
                has_key |= plain == '=';
                text.push(plain);
            }
        }
        if is_open {
            break;
        }
    }
    (Word { start, text }, at, is_open)
}

/// Returns true if the text after `before` must be JSON.
fn is_json(rest: &str, before: &str) -> bool {
    let is_explicit = before.ends_with(":=");
    rest.starts_with(['{', '[']) || (is_explicit && rest.starts_with('"'))
}

enum Json {
    /// Complete JSON of this many bytes.
    Whole(usize),
    Open,
    Wrong,
}

fn json(text: &str) -> Json {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(value)) => Json::Whole(value.get().len()),
        Some(Err(error)) if error.is_eof() => Json::Open,
        _ => Json::Wrong,
    }
}
