//! Changing lines of a prompt: drawn in place, and removed at the end.

use crate::surface::terminal::{self, say};
use haft_tool::{TerminalText, terminal_text};

/// Lines on the screen, from the original row of the cursor.
#[derive(Default)]
pub(super) struct Frame {
    /// Row of the cursor within the frame.
    row: usize,
}

/// Returns the number of cells that fit into one row.
pub(super) fn room() -> usize {
    let columns = terminal::size().map_or(80, |size| size.columns);
    columns.saturating_sub(1).max(1)
}

impl Frame {
    /// Draws `lines` in place of the previous ones, with the cursor at (row, column). The cursor is
    /// hidden without a position.
    pub(super) fn draw(&mut self, lines: &[TerminalText], cursor: Option<(usize, usize)>) {
        let room = room();
        let mut out = self.home();
        let lines: Vec<_> = lines.iter().map(|line| line.keep_start(room)).collect();
        out.push(&TerminalText::join(&lines, "\n"));
        self.row = lines.len().saturating_sub(1);
        match cursor {
            None => out.push_literal("\x1b[?25l"),
            Some((row, column)) => {
                if self.row > row {
                    out.push(&terminal_text!("\x1b[{}A", self.row - row));
                    self.row = row;
                }
                out.push_literal("\r");
                if column > 0 {
                    out.push(&terminal_text!("\x1b[{column}C"));
                }
                out.push_literal("\x1b[?25h");
            }
        }
        say(&out);
    }

    /// Replaces all lines by one that stays.
    pub(super) fn end(&mut self, line: &TerminalText) {
        let mut out = self.home();
        out.push_literal("\x1b[?25h");
        out.push(line);
        out.push_literal("\n");
        self.row = 0;
        say(&out);
    }

    /// Returns the sequence that moves to the first row and clears everything from there.
    fn home(&self) -> TerminalText {
        let up = match self.row {
            0 => TerminalText::new(),
            rows => terminal_text!("\x1b[{rows}A"),
        };
        terminal_text!("{up}\r\x1b[J")
    }
}
