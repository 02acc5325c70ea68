//! Terminal region of several lines that is redrawn in place.
//!
//! Lines that have scrolled off the screen cannot be redrawn. So only the end of a tall drawing is
//! shown until it is final. Other output must pause the region first. The lines drawn so far then
//! stay, and the next drawing begins below.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::surface::stdout::Size;
use haft_render::draw;

/// Handle of a region. Clones share it.
#[derive(Clone)]
pub(super) struct Region(Arc<Mutex<State>>);

struct State {
    file: File,
    /// Lines on the screen that the next drawing replaces.
    drawn: Vec<String>,
    is_resting: bool,
}

/// Synchronised output: terminals that support it show the whole drawing at once.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

impl Region {
    /// Creates a region at the terminal's cursor, which must be at the start of a line.
    pub(super) fn new(terminal: File) -> Self {
        Region(Arc::new(Mutex::new(State {
            file: terminal,
            drawn: Vec::new(),
            is_resting: false,
        })))
    }

    /// Releases the terminal for other output.
    pub(super) fn rest(&self) {
        let mut state = self.0.lock();
        state.is_resting = true;
        state.drawn.clear();
    }

    /// Takes the terminal back.
    pub(super) fn resume(&self) {
        self.0.lock().is_resting = false;
    }

    /// Draws lines that may still change.
    pub(super) fn draw(&self, lines: &[String], size: Size) -> io::Result<()> {
        let mut state = self.0.lock();
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

    /// Draws the final lines.
    pub(super) fn finish(&self, lines: &[String], size: Option<Size>) -> io::Result<()> {
        let mut state = self.0.lock();
        match size {
            Some(size) => state.write(lines, size.columns)?,
            // Without a terminal only the lines are written.
            None => state.file.write_all(text_of(lines).as_bytes())?,
        }
        state.drawn.clear();
        Ok(())
    }
}

impl State {
    fn write(&mut self, lines: &[String], columns: usize) -> io::Result<()> {
        // A narrower terminal has wrapped the lines on the screen, so count their rows.
        let rows = |line: &String| draw::width(line).div_ceil(columns.max(1)).max(1);
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
