//! The terminal of haft: standard error, and the file that a live drawing is written to.
//!
//! Everything that appears there is a [`TerminalText`]. `clippy.toml` bans the other ways to write to
//! the standard streams.
#![allow(
    clippy::disallowed_methods,
    reason = "the only module that writes to standard error"
)]

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use haft_render::sanitize;
use haft_tool::TerminalText;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Number of characters per line.
    pub(crate) columns: usize,
    /// Number of lines; 0 if unknown.
    pub(crate) rows: usize,
    /// Width and height of a character in pixels, if known.
    pub(crate) cell: Option<(u16, u16)>,
}

impl Size {
    /// Returns the size of `terminal`; `None` if it is not a terminal, or its size is unknown.
    pub(crate) fn of(terminal: impl AsFd) -> Option<Size> {
        let size = rustix::termios::tcgetwinsize(terminal).ok()?;
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        let cell = |pixels: u16, cells: u16| pixels.checked_div(cells).filter(|&size| size > 0);
        (columns > 0).then(|| Size {
            columns,
            rows,
            cell: cell(size.ws_xpixel, size.ws_col).zip(cell(size.ws_ypixel, size.ws_row)),
        })
    }
}

/// Writes to standard error. Errors are ignored, since they could not be reported anywhere.
pub(crate) fn say(text: &TerminalText) {
    let _ = io::stderr().lock().write_all(text.as_str().as_bytes());
}

/// Returns true if standard error is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns the size of the terminal at standard error; `None` if it is not one.
pub(crate) fn size() -> Option<Size> {
    Size::of(io::stderr())
}

/// File that only [`TerminalText`] can be written to.
pub(crate) struct TerminalFile(File);

impl TerminalFile {
    /// Returns a file for standard error.
    pub(crate) fn for_stderr() -> io::Result<TerminalFile> {
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        Ok(TerminalFile(File::from(stderr)))
    }

    /// Returns a file that writes to `file`.
    pub(super) fn new(file: File) -> TerminalFile {
        TerminalFile(file)
    }

    /// Writes `text`.
    pub(crate) fn print(&mut self, text: &TerminalText) -> io::Result<()> {
        self.0.write_all(text.as_str().as_bytes())
    }
}

/// Writer of the internal log to standard error. Of the escape sequences it keeps the styles that the
/// log's own format has.
pub(crate) struct LogWriter {
    /// The lines of one event.
    lines: Vec<u8>,
    is_colored: bool,
}

impl LogWriter {
    /// Returns a writer that keeps styles if `is_colored`.
    pub(crate) fn new(is_colored: bool) -> LogWriter {
        LogWriter {
            lines: Vec::new(),
            is_colored,
        }
    }
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.lines);
        let lines = String::from_utf8_lossy(&lines);
        say(&sanitize::styled_text(&lines, self.is_colored).framed());
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        // Standard error has no buffer, so this cannot fail.
        let _ = self.flush();
    }
}
