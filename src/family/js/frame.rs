//! Location of an error in the author's file, and the lines around it.

use std::path::{Path, PathBuf};

use url::Url;

use haft_tool::Problem;

/// A place in a file, both numbers 1-based.
struct Place {
    path: PathBuf,
    line: u32,
    column: u32,
}

/// Adds place and code frame to `problem` of the `module`, from its message or from the stack.
pub(super) fn locate(mut problem: Problem, module: &Path, stack: Option<&str>) -> Problem {
    let found = place_in_message(&problem.message)
        .or_else(|| place_of_link(&mut problem.message))
        .or_else(|| place_of_import(&problem.message))
        .or_else(|| stack.and_then(place_in_stack));
    let Some(place) = found else {
        return problem;
    };
    problem.frame = frame(&place);
    problem.line = Some(place.line);
    problem.column = Some(place.column);
    problem.file = (place.path != module).then_some(place.path);
    problem
}

/// Finds the place in the message of a syntax error: `(path:line:column)` at its end.
fn place_in_message(message: &str) -> Option<Place> {
    let inside = message.strip_suffix(')')?.rsplit_once('(')?.1;
    let (path, line, column) = split_place(inside)?;
    Some(Place {
        path: PathBuf::from(path),
        line,
        column,
    })
}

/// Finds the place in V8's text about a missing export, which ends with ` at URL:line:column`, and
/// cuts it off.
fn place_of_link(message: &mut String) -> Option<Place> {
    let (text, url) = message.rsplit_once(" at file://")?;
    let place = place_at(&format!("file://{url}"))?;
    let length = text.len();
    message.truncate(length);
    Some(place)
}

/// Finds the place of the import for "Cannot find … 'x' imported from FILE": where FILE writes 'x'.
fn place_of_import(message: &str) -> Option<Place> {
    let (before, path) = message.split_once("' imported from ")?;
    let specifier = before.rsplit_once('\'')?.1;
    let text = read(Path::new(path))?;
    let quoted = ['"', '\'', '`'].map(|quote| format!("{quote}{specifier}{quote}"));
    (1u32..).zip(text.lines()).find_map(|(line, text)| {
        let at = quoted
            .iter()
            .find_map(|written| text.find(written.as_str()))?;
        let column = text[..at].chars().count() as u32 + 1;
        Some(Place {
            path: PathBuf::from(path),
            line,
            column,
        })
    })
}

/// Returns the first frame of the stack that is in a file of the author, or else in any file.
fn place_in_stack(stack: &str) -> Option<Place> {
    let places = || {
        stack.lines().filter_map(|text| {
            let at = text.find("file://")?;
            place_at(text[at..].trim_end_matches(')'))
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

/// Parses `file:///a/b.ts:3:7`.
fn place_at(text: &str) -> Option<Place> {
    let (url, line, column) = split_place(text)?;
    let path = Url::parse(url).ok()?.to_file_path().ok()?;
    Some(Place { path, line, column })
}

fn split_place(text: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (path, line) = rest.rsplit_once(':')?;
    Some((path, line.parse().ok()?, column.parse().ok()?))
}

/// Number of lines that are shown before and after the place.
const AROUND: u32 = 2;
/// Number of characters of a line that are shown, and of those before the place.
const WIDTH: usize = 160;
const BEFORE: usize = 60;

fn frame(place: &Place) -> Option<String> {
    let text = read(&place.path)?;
    // A binary file has no lines to show.
    if text.contains('\0') {
        return None;
    }
    let first = place.line.saturating_sub(AROUND).max(1);
    let last = place.line + AROUND;
    let width = last.to_string().len();
    let at = place.column.saturating_sub(1) as usize;
    // Generated code can have very long lines: all are cut at the same column.
    let skipped = if at < WIDTH { 0 } else { at - BEFORE };
    let mut lines = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if number < first || number > last {
            continue;
        }
        let mark = if number == place.line { '>' } else { ' ' };
        lines.push(format!("{mark} {number:>width$} | {}", part(line, skipped)));
        if number == place.line {
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

fn read(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
