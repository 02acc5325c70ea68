//! Output that several commands share: problems of a file, and messages about a written file.

use std::path::Path;

use haft_render::style::Ink;
use haft_render::{problem, text};
use haft_tool::{Problem, Severity, TerminalText, terminal_text};

/// Renders the problems with their positions and hints, and with source lines if `is_detailed`.
pub(super) fn problems(
    found: &[Problem],
    home: &Path,
    is_detailed: bool,
    ink: Ink,
) -> TerminalText {
    let mut page = TerminalText::new();
    for one in found {
        let mut one = one.clone();
        if !is_detailed {
            one.frame = None;
        }
        page.push(&problem::problem(&one, home, ink));
    }
    page
}

/// Renders the errors of a text that is not a file yet, so without positions.
pub(super) fn refusals(found: &[Problem], ink: Ink) -> TerminalText {
    let errors = found.iter().filter(|one| one.severity == Severity::Error);
    let mut page = TerminalText::new();
    for one in errors {
        let mut one = one.clone();
        (one.path, one.line, one.column, one.frame) = (None, None, None, None);
        page.push(&problem::problem(&one, Path::new("/"), ink));
    }
    page
}

/// Returns true if one of them is an error.
pub(super) fn has_errors(found: &[Problem]) -> bool {
    found.iter().any(|one| one.severity == Severity::Error)
}

/// Returns the message about a written file (spec cycod 168).
pub(super) fn saved(verb: &str, name: &str, scope: &str, path: &Path, home: &Path) -> TerminalText {
    let path = text::path(path, home);
    terminal_text!("{verb} tool '{name}' in {scope} scope.\nSaved: {path}\n")
}
