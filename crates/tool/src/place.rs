//! Places in a text: line and column of a position, and the lines around a place.

/// Number of characters of a line that a code frame shows, and of those before the place.
const WIDTH: usize = 160;
const BEFORE: usize = 60;

/// Returns the line and the column (in characters) of the text after `before`, each 1-based.
pub fn place_after(before: &str) -> (usize, usize) {
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[line_start..].chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Returns the line of a place with a caret below its column, and `around` lines before and after
/// it. Line and column are 1-based. `None` if the text has no such line.
pub fn code_frame(text: &str, (place, column): (u32, u32), around: u32) -> Option<String> {
    // A binary file has no lines to show.
    if text.contains('\0') {
        return None;
    }
    let first = place.saturating_sub(around).max(1);
    let last = place.saturating_add(around);
    let width = last.to_string().len();
    let at = column.saturating_sub(1) as usize;
    // Generated code can have very long lines: all are cut at the same column.
    let skipped = if at < WIDTH { 0 } else { at - BEFORE };
    let mut lines = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if number < first || number > last {
            continue;
        }
        let mark = if number == place { '>' } else { ' ' };
        lines.push(format!("{mark} {number:>width$} | {}", part(line, skipped)));
        if number == place {
            // A tab must be as wide below as above.
            let above = line.chars().skip(skipped).take(at - skipped);
            let mut pad: String = above.map(|c| if c == '\t' { c } else { ' ' }).collect();
            if skipped > 0 {
                pad.insert(0, ' ');
            }
            lines.push(format!("  {:>width$} | {pad}^", ""));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the part of `line` that starts at character `from`; dots mark omitted text.
fn part(line: &str, from: usize) -> String {
    let mut rest = line.chars().skip(from);
    let shown: String = rest.by_ref().take(WIDTH).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_frame_marks_the_column_and_cuts_long_lines() {
        let text = "one\n\ttwo\nthree";
        assert_eq!(
            code_frame(text, (2, 3), 0).as_deref(),
            Some("> 2 | \ttwo\n    | \t ^")
        );
        let whole = "  1 | one\n> 2 | \ttwo\n    | \t ^\n  3 | three";
        assert_eq!(code_frame(text, (2, 3), 1).as_deref(), Some(whole));
        assert_eq!(code_frame(text, (4, 1), 0), None);
        let long = format!("{}!{}", "a".repeat(200), "b".repeat(200));
        let (a, b) = ("a".repeat(BEFORE), "b".repeat(WIDTH - BEFORE - 1));
        let cut = format!("> 1 | …{a}!{b}…\n    |  {}^", " ".repeat(BEFORE));
        assert_eq!(code_frame(&long, (1, 201), 0), Some(cut));
    }

    #[test]
    fn lines_and_characters_are_counted_from_one() {
        assert_eq!(place_after(""), (1, 1));
        assert_eq!(place_after("äb"), (1, 3));
        assert_eq!(place_after("a\nbc\n"), (3, 1));
        assert_eq!(place_after("a\r\nö"), (2, 2));
    }
}
