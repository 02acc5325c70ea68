//! Collection of the problems of one file.

use std::path::Path;

use super::definition::Place;
use haft_tool::{Problem, Severity};

/// The problems of one file, in the order in which they were found.
pub(crate) struct Report<'a> {
    path: &'a Path,
    /// The file's text, for the author's lines around a place.
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(path: &'a Path, text: &'a str) -> Report<'a> {
        Report {
            path,
            text,
            problems: Vec::new(),
        }
    }

    pub(crate) fn error(&mut self, place: Place, text: impl Into<String>, hint: impl Into<String>) {
        self.push(Problem::error(text), place, hint.into());
    }

    pub(crate) fn warning(
        &mut self,
        place: Place,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(Problem::warning(text), place, hint.into());
    }

    pub(crate) fn has_errors(&self) -> bool {
        let mut all = self.problems.iter();
        all.any(|problem| problem.severity == Severity::Error)
    }

    /// Returns all problems, sorted by place.
    pub(crate) fn finish(self) -> Vec<Problem> {
        let mut problems = self.problems;
        problems.sort_by_key(|problem| (problem.line, problem.column));
        // A parameter that is used three times is declared once, so equal problems are merged.
        let mut told: Vec<Problem> = Vec::with_capacity(problems.len());
        for problem in problems {
            if !told.contains(&problem) {
                told.push(problem);
            }
        }
        told
    }

    fn push(&mut self, problem: Problem, place: Place, hint: String) {
        let mut problem = problem
            .at(self.path)
            .place(place.line, place.column)
            .hint(hint);
        problem.frame = frame(self.text, place);
        self.problems.push(problem);
    }
}

/// Returns the line with its number, and a caret below the column.
fn frame(text: &str, place: Place) -> Option<String> {
    let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let line = text.lines().nth(index)?.trim_end();
    if line.chars().count() > MAX_LINE_LEN {
        return None;
    }
    let number = place.line.to_string();
    let before: String = line
        .chars()
        .take(usize::try_from(place.column).ok()?.saturating_sub(1))
        .map(|c| if c == '\t' { '\t' } else { ' ' })
        .collect();
    let gap = " ".repeat(number.len());
    Some(format!("> {number} | {line}\n  {gap} | {before}^"))
}

/// Limit of a source line in a problem, in characters. Longer ones are left out: they do not fit
/// on a terminal.
const MAX_LINE_LEN: usize = 200;
