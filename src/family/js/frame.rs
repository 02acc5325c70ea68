//! Location of an error in the author's file, and the lines around it.

use std::path::{Path, PathBuf};

use url::Url;

use haft_tool::{Problem, code_frame};

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
    problem.frame =
        read(&place.path).and_then(|text| code_frame(&text, (place.line, place.column), AROUND));
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

fn read(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
