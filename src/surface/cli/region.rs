//! A drawing of several lines on a terminal that is drawn again in place.
//!
//! What is higher than the screen cannot be drawn again: then only its end is shown until it is final.
//! Whoever else wants the terminal makes the region rest; what was drawn until then stays as it is, and
//! the next drawing begins below.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::render::drawing;
use crate::surface::stdout::Size;

/// Clones are the same region.
#[derive(Clone)]
pub(super) struct Region(Arc<Mutex<State>>);

struct State {
    file: File,
    /// The lines on the screen that may be drawn over.
    drawn: Vec<String>,
    is_resting: bool,
}

/// Terminals that know it show everything in between at once.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

impl Region {
    /// A region from where the terminal's cursor is, at the start of a line.
    pub(super) fn new(terminal: File) -> Self {
        Region(Arc::new(Mutex::new(State {
            file: terminal,
            drawn: Vec::new(),
            is_resting: false,
        })))
    }

    /// Leaves the terminal to somebody else.
    pub(super) fn rest(&self) {
        let mut state = self.state();
        state.is_resting = true;
        state.drawn.clear();
    }

    /// Takes it back.
    pub(super) fn go_on(&self) {
        self.state().is_resting = false;
    }

    /// Draws what may still change.
    pub(super) fn draw(&self, lines: &[String], size: Size) -> io::Result<()> {
        let mut state = self.state();
        let most = match size.rows {
            0 => lines.len(),
            rows => rows.saturating_sub(1).max(1),
        };
        let lines = &lines[lines.len().saturating_sub(most)..];
        if state.is_resting || lines == state.drawn {
            return Ok(());
        }
        state.write(lines, size.columns)?;
        state.drawn = lines.to_vec();
        Ok(())
    }

    /// Draws what stays.
    pub(super) fn finish(&self, lines: &[String], size: Option<Size>) -> io::Result<()> {
        let mut state = self.state();
        match size {
            Some(size) => state.write(lines, size.columns)?,
            // Not a terminal: nothing but the lines.
            None => state.file.write_all(text_of(lines).as_bytes())?,
        }
        state.drawn.clear();
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, lines: &[String], columns: usize) -> io::Result<()> {
        // A terminal that has become narrower has broken what is on it.
        let rows = |line: &String| drawing::width(line).div_ceil(columns.max(1)).max(1);
        let up: usize = self.drawn.iter().map(rows).sum();
        let mut text = String::from(BEGIN);
        if up > 0 {
            text.push_str(&format!("\x1b[{up}A\r\x1b[J"));
        }
        text.push_str(&text_of(lines));
        text.push_str(END);
        self.file.write_all(text.as_bytes())
    }
}

fn text_of(lines: &[String]) -> String {
    lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect()
}
