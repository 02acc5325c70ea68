//! Changing lines of a prompt: drawn in place, and removed at the end.

use std::fmt::Write as _;

use console::Term;

use crate::surface::cli::exit::say;
use haft_render::text::{keep_start, width};

/// Lines on the screen, from the original row of the cursor.
#[derive(Default)]
pub(super) struct Frame {
    /// Row of the cursor within the frame.
    row: usize,
}

/// Returns the number of cells that fit into one row.
pub(super) fn room() -> usize {
    let columns = Term::stderr()
        .size_checked()
        .map_or(80, |(_, columns)| columns);
    usize::from(columns).saturating_sub(1).max(1)
}

impl Frame {
    /// Draws `lines` in place of the previous ones, with the cursor at (row, column). The cursor is
    /// hidden without a position.
    pub(super) fn draw(&mut self, lines: &[String], cursor: Option<(usize, usize)>) {
        let room = room();
        let mut out = self.home();
        let lines: Vec<String> = lines
            .iter()
            .map(|line| {
                if width(line) > room {
                    keep_start(line, room)
                } else {
                    line.clone()
                }
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

    /// Replaces all lines by one that stays.
    pub(super) fn end(&mut self, line: &str) {
        let mut out = self.home();
        out.push_str("\x1b[?25h");
        out.push_str(line);
        out.push('\n');
        self.row = 0;
        say(&out);
    }

    /// Returns the sequence that moves to the first row and clears everything from there.
    fn home(&self) -> String {
        let up = match self.row {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        format!("{up}\r\x1b[J")
    }
}
