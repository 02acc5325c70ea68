//! Places in a text: line and column of a position, and the lines around a place.

use std::path::PathBuf;

use url::Url;

/// Number of lines that are shown before and after a place.
const AROUND: u32 = 2;

/// Number of characters of a line that a code frame shows, and of those before the place.
const WIDTH: usize = 160;
const BEFORE: usize = 60;

/// A place in a file, both numbers 1-based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: u32,
    /// The column in characters.
    pub column: u32,
}

impl Place {
    /// Parses `/a/b.ts:3:7`.
    pub fn of_path(text: &str) -> Option<Place> {
        let (path, line, column) = split(text)?;
        let path = PathBuf::from(path);
        Some(Place { path, line, column })
    }

    /// Parses `file:///a/b.ts:3:7`.
    pub fn of_url(text: &str) -> Option<Place> {
        let (url, line, column) = split(text)?;
        let path = Url::parse(url).ok()?.to_file_path().ok()?;
        Some(Place { path, line, column })
    }

    /// Returns the first place of a stack of JavaScript that is in a file of the author, or else in
    /// any file.
    pub fn in_stack(stack: &str) -> Option<Place> {
        let places = || {
            stack.lines().filter_map(|text| {
                let at = text.find("file://")?;
                Place::of_url(text[at..].trim_end_matches(')'))
            })
        };
        let is_installed = |place: &Place| {
            let mut parts = place.path.components();
            parts.any(|part| part.as_os_str() == "node_modules")
        };
        places()
            .find(|place| !is_installed(place))
            .or_else(|| places().next())
    }

    /// Reads the file and returns the lines around the place.
    pub fn frame(&self) -> Option<String> {
        let bytes = std::fs::read(&self.path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        code_frame(&text, (self.line, self.column), AROUND)
    }
}

fn split(text: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (path, line) = rest.rsplit_once(':')?;
    Some((path, line.parse().ok()?, column.parse().ok()?))
}

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
    fn the_place_of_a_stack_is_in_a_file_of_the_author() {
        let stack = "TypeError: no\n    at check (file:///p/node_modules/a/index.js:1:2)\n    \
                     at Object.execute (file:///p/tools.ts:12:7)\n    at ext:haft/31_call.ts:1:1";
        let place = |text| Place::in_stack(text).map(|it| (it.path, it.line, it.column));
        assert_eq!(place(stack), Some(("/p/tools.ts".into(), 12, 7)));
        let installed = "at file:///p/node_modules/a/index.js:1:2";
        let of_package = ("/p/node_modules/a/index.js".into(), 1, 2);
        assert_eq!(place(installed), Some(of_package));
        assert_eq!(place("at ext:haft/31_call.ts:1:1"), None);
    }

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
