//! Quotes of command lines.

/// Appends the quoted text at the start of `text`, after the opening `quote`, to `to`. Returns its
/// length in bytes with the closing quote, or `None` if that is missing.
///
/// A backslash in double quotes escapes only a double quote or a backslash.
pub(crate) fn unquote(text: &str, quote: char, to: &mut String) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some(at + c.len_utf8());
        }
        let is_escape = c == '\\' && quote == '"' && chars.as_str().starts_with(['"', '\\']);
        let next = if is_escape { chars.next() } else { None };
        to.push(next.map_or(c, |(_, escaped)| escaped));
    }
    None
}
