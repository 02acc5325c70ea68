//! Terminal region of several lines that is redrawn in place.
//!
//! Lines that have scrolled off the screen cannot be redrawn. So only the end of a tall drawing is
//! shown until it is final. Other output must pause the region first. The lines drawn so far then
//! stay, and the next drawing begins below.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::surface::terminal::Size;
use crate::surface::terminal::TerminalFile;
use haft_render::draw;
use haft_tool::{TerminalText, terminal_text};

/// Handle of a region. Clones share it.
#[derive(Clone)]
pub(super) struct Region(Arc<Mutex<State>>);

struct State {
    file: TerminalFile,
    /// Lines on the screen that the next drawing replaces.
    drawn: Vec<TerminalText>,
    is_resting: bool,
}

/// Synchronised output: terminals that support it show the whole drawing at once.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

impl Region {
    /// Creates a region at the terminal's cursor, which must be at the start of a line.
    pub(super) fn new(terminal: TerminalFile) -> Self {
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
    pub(super) fn draw(&self, lines: &[TerminalText], size: Size) -> io::Result<()> {
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
    pub(super) fn finish(&self, lines: &[TerminalText], size: Option<Size>) -> io::Result<()> {
        let mut state = self.0.lock();
        match size {
            Some(size) => state.write(lines, size.columns)?,
            // Without a terminal only the lines are written.
            None => state.file.print(&text_of(lines))?,
        }
        state.drawn.clear();
        Ok(())
    }
}

impl State {
    fn write(&mut self, lines: &[TerminalText], columns: usize) -> io::Result<()> {
        // A narrower terminal has wrapped the lines on the screen, so count their rows.
        let rows = |line: &TerminalText| draw::width(line).div_ceil(columns.max(1)).max(1);
        let up: usize = self.drawn.iter().map(rows).sum();
        let mut text = TerminalText::from_literal(BEGIN);
        if up > 0 {
            text.push(&terminal_text!("\x1b[{up}A\r\x1b[J"));
        }
        text.push(&text_of(lines));
        text.push_literal(END);
        self.file.print(&text)
    }
}

fn text_of(lines: &[TerminalText]) -> TerminalText {
    let lines = lines.iter().map(|line| terminal_text!("{line}\n"));
    lines.collect()
}
