//! Test results as text for people.

use std::io;

use super::{Count, Reporter};
use crate::surface::stdout::Out;
use crate::tool_test::{Report, Status};
use haft_render::style::Ink;
use haft_render::{text, units};
use haft_tool::{Problem, TerminalText, terminal_text};

pub(super) struct Text<'a> {
    out: &'a mut Out,
    ink: Ink,
    /// File of the tests that are being reported.
    file: String,
}

impl<'a> Text<'a> {
    pub(super) fn new(out: &'a mut Out, ink: Ink) -> Self {
        Text {
            out,
            ink,
            file: String::new(),
        }
    }

    fn heading(&mut self, file: &str) -> io::Result<()> {
        if self.file != file {
            file.clone_into(&mut self.file);
            self.out.print_line(&terminal_text!("{file}"))?;
        }
        Ok(())
    }
}

impl Reporter for Text<'_> {
    fn test(&mut self, file: &str, name: &str, report: &Report) -> io::Result<()> {
        self.heading(file)?;
        let name = text::first_line(name);
        let time = self.ink.dim(units::time(report.duration));
        match &report.status {
            Status::Passed => self
                .out
                .print_line(&terminal_text!("  {} {name} {time}", self.ink.good("pass")))?,
            Status::Failed(reasons) => {
                self.out.print_line(&terminal_text!(
                    "  {} {name} {time}",
                    self.ink.error("FAIL")
                ))?;
                for reason in reasons {
                    let reason = TerminalText::from_prose(reason).indented("    ");
                    self.out.print(&reason)?;
                }
            }
            Status::Skipped(why) => {
                let why = text::first_line(why);
                self.out
                    .print_line(&terminal_text!("  {} {name} ({why})", self.ink.dim("skip")))?;
            }
        }
        for note in &report.notes {
            self.out
                .print_line(&terminal_text!("    note: {}", text::first_line(note)))?;
        }
        self.out.flush()
    }

    fn broken(&mut self, file: &str, problem: &Problem) -> io::Result<()> {
        self.heading(file)?;
        self.out
            .print_line(&terminal_text!("  {} the file", self.ink.error("FAIL")))?;
        self.out
            .print(&TerminalText::from_prose(&in_words(problem)).indented("    "))
    }

    fn note(&mut self, note: &str) -> io::Result<()> {
        self.out
            .print_line(&terminal_text!("  {}", text::first_line(note)))
    }

    fn end(&mut self, count: &Count) -> io::Result<()> {
        self.out
            .print_line(&terminal_text!("\n{}", count.summary()))?;
        self.out.flush()
    }
}

/// Renders a problem with its source lines and its hint.
pub(super) fn in_words(problem: &Problem) -> String {
    let mut words = format!("{}\n", problem.message);
    if let (Some(line), Some(column)) = (problem.line, problem.column) {
        words.push_str(&format!("at line {line}, column {column}\n"));
    }
    if let Some(frame) = &problem.frame {
        words.push_str(frame);
    }
    if let Some(hint) = &problem.hint {
        words.push_str(&format!("hint: {hint}\n"));
    }
    words
}
