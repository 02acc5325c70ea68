//! The few lines of a prompt that change: drawn over themselves, and gone without a trace.

use std::fmt::Write as _;

use console::Term;

use crate::render::text::{keep_start, width};
use crate::surface::cli::exit::say;

/// The lines on the screen from where the cursor was.
#[derive(Default)]
pub(super) struct Frame {
    /// The row of the frame in which the cursor is.
    row: usize,
}

/// How many cells a line may take so that it is one row.
pub(super) fn room() -> usize {
    let columns = Term::stderr()
        .size_checked()
        .map_or(80, |(_, columns)| columns);
    usize::from(columns).saturating_sub(1).max(1)
}

impl Frame {
    /// Draws `lines` in place of those before, the cursor in `column` of row `row`; without a place
    /// it is hidden.
    pub(super) fn draw(&mut self, lines: &[String], cursor: Option<(usize, usize)>) {
        let room = room();
        let mut out = self.home();
        let lines: Vec<String> = lines
            .iter()
            .map(|line| match width(line) > room {
                true => keep_start(line, room),
                false => line.clone(),
            })
            .collect();
        out.push_str(&lines.join("\n"));
        self.row = lines.len().saturating_sub(1);
        match cursor {
            None => out.push_str("\x1b[?25l"),
            Some((row, column)) => {
                if self.row > row {
                    let _ = write!(out, "\x1b[{}A", self.row - row);
                    self.row = row;
                }
                out.push('\r');
                if column > 0 {
                    let _ = write!(out, "\x1b[{column}C");
                }
                out.push_str("\x1b[?25h");
            }
        }
        say(&out);
    }

    /// Puts one last line in place of all, which stays.
    pub(super) fn end(&mut self, line: &str) {
        let mut out = self.home();
        out.push_str("\x1b[?25h");
        out.push_str(line);
        out.push('\n');
        self.row = 0;
        say(&out);
    }

    /// To the first row, and nothing below it.
    fn home(&self) -> String {
        let up = match self.row {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        format!("{up}\r\x1b[J")
    }
}
