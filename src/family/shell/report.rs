//! Collection of the problems of one file.

use std::path::Path;

use super::definition::Place;
use haft_tool::{Problem, Severity, code_frame};

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
        problem.frame = code_frame(self.text, (place.line, place.column), 0);
        self.problems.push(problem);
    }
}
