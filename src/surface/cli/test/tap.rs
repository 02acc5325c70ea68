//! Test results in TAP 14.

use std::io;

use super::text::in_words;
use super::{Count, Reporter};
use crate::surface::stdout::Out;
use crate::tool_test::{Report, Status};
use haft_render::text;
use haft_tool::{Problem, TerminalText, terminal_text};

pub(super) struct Tap<'a> {
    out: &'a mut Out,
    number: usize,
}

impl<'a> Tap<'a> {
    pub(super) fn new(out: &'a mut Out) -> Self {
        Tap { out, number: 0 }
    }

    fn line(&mut self, is_ok: bool, file: &str, name: &str, directive: &str) -> io::Result<()> {
        if self.number == 0 {
            self.out.print_line(&terminal_text!("TAP version 14"))?;
        }
        self.number += 1;
        let ok = if is_ok { "ok" } else { "not ok" };
        let title = escaped(text::first_line(&format!("{file} > {name}")).as_str());
        self.out
            .print_line(&terminal_text!("{ok} {} - {title}{directive}", self.number))
    }

    fn diagnostic(&mut self, reasons: &str, milliseconds: Option<u128>) -> io::Result<()> {
        self.out.print_line(&terminal_text!("  ---"))?;
        if let Some(milliseconds) = milliseconds {
            self.out
                .print_line(&terminal_text!("  duration_ms: {milliseconds}"))?;
        }
        self.out.print_line(&terminal_text!("  message: |"))?;
        let reasons = TerminalText::from_prose(reasons);
        self.out.print(&reasons.indented("    "))?;
        self.out.print_line(&terminal_text!("  ..."))?;
        self.out.flush()
    }
}

impl Reporter for Tap<'_> {
    fn test(&mut self, file: &str, name: &str, report: &Report) -> io::Result<()> {
        match &report.status {
            Status::Passed => self.line(true, file, name, "")?,
            Status::Skipped(why) => {
                let why = escaped(&text::first_line(why));
                self.line(true, file, name, &format!(" # SKIP {why}"))?;
            }
            Status::Failed(reasons) => {
                self.line(false, file, name, "")?;
                let milliseconds = report.duration.as_millis();
                self.diagnostic(&reasons.join("\n"), Some(milliseconds))?;
            }
        }
        self.out.flush()
    }

    fn broken(&mut self, file: &str, problem: &Problem) -> io::Result<()> {
        self.line(false, file, "the file", "")?;
        self.diagnostic(&in_words(problem), None)
    }

    fn end(&mut self, _count: &Count) -> io::Result<()> {
        if self.number == 0 {
            self.out.print_line(&terminal_text!("TAP version 14"))?;
        }
        self.out.print_line(&terminal_text!("1..{}", self.number))?;
        self.out.flush()
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#")
}
