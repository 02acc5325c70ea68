//! Where in the author's file an error is, and the lines around it.

use std::path::{Path, PathBuf};

use url::Url;

use crate::tool::Problem;

/// A place in a file, both numbers 1-based.
struct Place {
    path: PathBuf,
    line: u32,
    column: u32,
}

/// Adds place and code frame to `problem`, from its message or from the stack.
pub(super) fn locate(mut problem: Problem, stack: Option<&str>) -> Problem {
    let found = place_in_message(&problem.message)
        .or_else(|| place_of_import(&problem.message))
        .or_else(|| stack.and_then(place_in_stack));
    let Some(place) = found else {
        return problem;
    };
    problem.frame = frame(&place);
    problem.line = Some(place.line);
    problem.column = Some(place.column);
    problem
}

/// A syntax error carries `(path:line:column)` at its end.
fn place_in_message(message: &str) -> Option<Place> {
    let inside = message.strip_suffix(')')?.rsplit_once('(')?.1;
    let (path, line, column) = split_place(inside)?;
    Some(Place {
        path: PathBuf::from(path),
        line,
        column,
    })
}

/// "Cannot find … 'x' imported from FILE": where FILE writes 'x'.
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

/// The first frame of the stack that is in a file.
fn place_in_stack(stack: &str) -> Option<Place> {
    stack.lines().find_map(|text| {
        let at = text.find("file://")?;
        let (url, line, column) = split_place(text[at..].trim_end_matches(')'))?;
        let path = Url::parse(url).ok()?.to_file_path().ok()?;
        Some(Place { path, line, column })
    })
}

fn split_place(text: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (path, line) = rest.rsplit_once(':')?;
    Some((path, line.parse().ok()?, column.parse().ok()?))
}

/// How many lines before and after the place are shown.
const AROUND: u32 = 2;

fn frame(place: &Place) -> Option<String> {
    let text = read(&place.path)?;
    let first = place.line.saturating_sub(AROUND).max(1);
    let last = place.line + AROUND;
    let width = last.to_string().len();
    let mut lines = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if number < first || number > last {
            continue;
        }
        let mark = if number == place.line { '>' } else { ' ' };
        lines.push(format!("{mark} {number:>width$} | {}", shortened(line)));
        if number == place.line {
            let pad = " ".repeat(place.column.saturating_sub(1) as usize);
            lines.push(format!("  {:>width$} | {pad}^", ""));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Code made by machines has lines without end.
fn shortened(line: &str) -> String {
    const MOST: usize = 160;
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn read(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
