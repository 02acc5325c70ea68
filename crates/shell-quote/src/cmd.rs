//! Quoting of values in Windows' own shell, which has no quoting that is always safe.
//!
//! cmd reads a line from left to right: a `"` opens quotes and the next one closes them, a line end
//! closes them too, and outside of quotes `^` escapes the next character. Inside of quotes only
//! `"`, `%`, `!` and line ends have a meaning, and a quote cannot be escaped for all programs.
//! Values with one of these are refused. All other values are put between quotes, where they are
//! safe.

use super::{Item, Piece, QuoteError, items};

/// Puts the guarded pieces in their places.
///
/// # Errors
/// Where a place cannot be made safe for its value.
pub fn cmd(pieces: &[Piece]) -> Result<String, QuoteError> {
    let items = items(pieces);
    let (mut text, mut in_quotes, mut after_caret) = (String::new(), false, false);
    for (at, item) in items.iter().enumerate() {
        match *item {
            Item::Char(c) => {
                match c {
                    '\n' => in_quotes = false,
                    '"' if !after_caret => in_quotes = !in_quotes,
                    _ => {}
                }
                after_caret = c == '^' && !in_quotes && !after_caret;
                text.push(c);
            }
            Item::Value(value) => {
                let piece = &pieces[value];
                if let Some(why) = refusal(&piece.text, after_caret) {
                    let name = piece.guarded.clone().unwrap_or_default();
                    return Err(QuoteError {
                        name,
                        why: why.to_owned(),
                    });
                }
                let ends_quotes = if in_quotes {
                    items.get(at + 1) == Some(&Item::Char('"'))
                } else {
                    !is_plain(&piece.text)
                };
                if !in_quotes && ends_quotes {
                    text.push('"');
                }
                text.push_str(&piece.text);
                if ends_quotes {
                    // A backslash before the quote would escape it for most programs.
                    let slashes = piece.text.len() - piece.text.trim_end_matches('\\').len();
                    text.extend(std::iter::repeat_n('\\', slashes));
                }
                if !in_quotes && ends_quotes {
                    text.push('"');
                }
            }
        }
    }
    Ok(text)
}

fn refusal(value: &str, after_caret: bool) -> Option<&'static str> {
    if value.contains(['"', '%', '!', '\n', '\r', '\0']) {
        return Some(
            "cmd cannot quote `\"`, `%`, `!` and line ends; \
             hand it over by `input` or `environment.variables`",
        );
    }
    after_caret.then_some("a `^` before it would take the meaning from its quotes")
}

/// Returns true if a value needs no quotes. An empty value needs them, to be an argument at all.
fn is_plain(value: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '\\');
    !value.is_empty() && value.chars().all(is_plain)
}
