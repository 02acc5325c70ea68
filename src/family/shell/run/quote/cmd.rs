//! Values in Windows' own shell, which has no quoting that holds for everything.
//!
//! `%` expands and a line end ends the command even inside of quotes, and a quote cannot be
//! escaped for all programs: values with one of them are refused.

use super::{Piece, QuoteError};

/// Puts the guarded pieces in their places.
pub(crate) fn cmd(pieces: &[Piece]) -> Result<String, QuoteError> {
    let mut text = String::new();
    for piece in pieces {
        let Some(name) = &piece.guarded else {
            text.push_str(&piece.text);
            continue;
        };
        if piece.text.contains(['"', '%', '!', '\n', '\r', '\0']) {
            return Err(QuoteError {
                name: name.clone(),
                why: "cmd cannot quote `\"`, `%`, `!` and line ends; \
                      hand it over by `input` or `environment.variables`",
            });
        }
        let is_plain =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '\\');
        let is_quoted = text.matches('"').count() % 2 == 1;
        if is_quoted || (!piece.text.is_empty() && piece.text.chars().all(is_plain)) {
            text.push_str(&piece.text);
        } else {
            text.push_str(&format!("\"{}\"", piece.text));
        }
    }
    Ok(text)
}
