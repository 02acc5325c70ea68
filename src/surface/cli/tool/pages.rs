//! What several commands print: problems of a file, words about what was written.

use std::path::Path;

use crate::render::ink::Ink;
use crate::render::{problem, text};
use crate::tool::{Problem, Severity};

/// The problems, each with its place and hint; with the author's lines where wanted.
pub(super) fn problems(found: &[Problem], home: &Path, is_detailed: bool, ink: Ink) -> String {
    let mut page = String::new();
    for one in found {
        let mut one = one.clone();
        if !is_detailed {
            one.frame = None;
        }
        page.push_str(&problem::problem(&one, home, ink));
    }
    page
}

/// The problems of a text that is not a file yet: without places.
pub(super) fn refusals(found: &[Problem], ink: Ink) -> String {
    let errors = found.iter().filter(|one| one.severity == Severity::Error);
    let mut page = String::new();
    for one in errors {
        let mut one = one.clone();
        (one.path, one.line, one.column, one.frame) = (None, None, None, None);
        page.push_str(&problem::problem(&one, Path::new("/"), ink));
    }
    page
}

/// Whether one of them is an error.
pub(super) fn has_errors(found: &[Problem]) -> bool {
    found.iter().any(|one| one.severity == Severity::Error)
}

/// The words for a file that was written (spec cycod 168).
pub(super) fn saved(verb: &str, name: &str, scope: &str, path: &Path, home: &Path) -> String {
    let path = text::path(path, home);
    format!("{verb} tool '{name}' in {scope} scope.\nSaved: {path}\n")
}
