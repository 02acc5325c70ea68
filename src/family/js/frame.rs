//! Location of an error in the author's file, and the lines around it.

use std::path::{Path, PathBuf};

use haft_tool::{Place, Problem};

/// Adds place and code frame to `problem` of the `module`, from its message or from the stack.
pub(super) fn locate(mut problem: Problem, module: &Path, stack: Option<&str>) -> Problem {
    let found = place_in_message(&problem.message)
        .or_else(|| place_of_link(&mut problem.message))
        .or_else(|| place_of_import(&problem.message))
        .or_else(|| stack.and_then(Place::in_stack));
    let Some(place) = found else {
        return problem;
    };
    problem.frame = place.frame();
    problem.line = Some(place.line);
    problem.column = Some(place.column);
    problem.file = (place.path != module).then_some(place.path);
    problem
}

/// Finds the place in the message of a syntax error: `(path:line:column)` at its end.
fn place_in_message(message: &str) -> Option<Place> {
    let inside = message.strip_suffix(')')?.rsplit_once('(')?.1;
    Place::of_path(inside)
}

/// Finds the place in V8's text about a missing export, which ends with ` at URL:line:column`, and
/// cuts it off.
fn place_of_link(message: &mut String) -> Option<Place> {
    let (text, url) = message.rsplit_once(" at file://")?;
    let place = Place::of_url(&format!("file://{url}"))?;
    let length = text.len();
    message.truncate(length);
    Some(place)
}

/// Finds the place of the import for "Cannot find … 'x' imported from FILE": where FILE writes 'x'.
fn place_of_import(message: &str) -> Option<Place> {
    let (before, path) = message.split_once("' imported from ")?;
    let specifier = before.rsplit_once('\'')?.1;
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
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
