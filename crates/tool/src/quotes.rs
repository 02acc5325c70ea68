//! Quotes of command lines.

/// Appends the quoted text at the start of `text`, after the opening `quote`, to `to`. Returns its
/// length in bytes with the closing quote, or `None` if that is missing.
///
/// A backslash in double quotes escapes only a double quote or a backslash.
pub fn unquote(text: &str, quote: char, to: &mut String) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn only_double_quotes_have_escapes() {
        let unquoted = |text: &str, quote| {
            let mut to = String::new();
            (unquote(text, quote, &mut to), to)
        };
        assert_eq!(
            unquoted(r#"a\"b\\c\d" e"#, '"'),
            (Some(10), r#"a"b\c\d"#.to_owned())
        );
        assert_eq!(unquoted(r"a\' b", '\''), (Some(3), r"a\".to_owned()));
        assert_eq!(unquoted("ä", '"'), (None, "ä".to_owned()));
    }
}
