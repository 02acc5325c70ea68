//! Test results as text for people.

use std::io::{self, Write};

use super::{Count, Reporter};
use crate::tool_test::{Report, Status};
use haft_render::style::Ink;
use haft_render::{text, units};
use haft_tool::Problem;

pub(super) struct Text<'a> {
    out: &'a mut dyn Write,
    ink: Ink,
    /// File of the tests that are being reported.
    file: String,
}

impl<'a> Text<'a> {
    pub(super) fn new(out: &'a mut dyn Write, ink: Ink) -> Self {
        Text {
            out,
            ink,
            file: String::new(),
        }
    }

    fn heading(&mut self, file: &str) -> io::Result<()> {
        if self.file != file {
            file.clone_into(&mut self.file);
            writeln!(self.out, "{}", text::name(file))?;
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
            Status::Passed => writeln!(self.out, "  {} {name} {time}", self.ink.good("pass"))?,
            Status::Failed(reasons) => {
                writeln!(self.out, "  {} {name} {time}", self.ink.error("FAIL"))?;
                for reason in reasons {
                    let reason = text::indent(&text::clean(reason), "    ");
                    self.out.write_all(reason.as_bytes())?;
                }
            }
            Status::Skipped(why) => {
                let why = text::first_line(why);
                writeln!(self.out, "  {} {name} ({why})", self.ink.dim("skip"))?;
            }
        }
        for note in &report.notes {
            writeln!(self.out, "    note: {}", text::first_line(note))?;
        }
        self.out.flush()
    }

    fn broken(&mut self, file: &str, problem: &Problem) -> io::Result<()> {
        self.heading(file)?;
        writeln!(self.out, "  {} the file", self.ink.error("FAIL"))?;
        self.out
            .write_all(text::indent(&text::clean(&in_words(problem)), "    ").as_bytes())
    }

    fn note(&mut self, note: &str) -> io::Result<()> {
        writeln!(self.out, "  {}", text::first_line(note))
    }

    fn end(&mut self, count: &Count) -> io::Result<()> {
        writeln!(self.out, "\n{}", count.summary())?;
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
