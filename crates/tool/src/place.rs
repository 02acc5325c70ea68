//! Line and column of a position in a text.

/// Returns the line and the column (in characters) of the text after `before`, each 1-based.
pub fn place_after(before: &str) -> (usize, usize) {
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[line_start..].chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_characters_are_counted_from_one() {
        assert_eq!(place_after(""), (1, 1));
        assert_eq!(place_after("äb"), (1, 3));
        assert_eq!(place_after("a\nbc\n"), (3, 1));
        assert_eq!(place_after("a\r\nö"), (2, 2));
    }
}
