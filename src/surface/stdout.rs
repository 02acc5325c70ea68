//! Private standard output of haft.
//!
//! A tool runs inside this process and may write to file descriptor 1. So before any tool starts,
//! haft duplicates the descriptor for its own data and points descriptor 1 at standard error.
//! Output of a tool goes there and cannot corrupt haft's data.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use console::Term;
use serde::Serialize;

use haft_render::style::Ink;
use haft_tool::visible;

/// Writer of the real standard output. For a terminal it replaces characters that hide or reorder
/// text. In JSON they become JSON escapes.
pub(crate) struct Out {
    file: BufWriter<File>,
    terminal: bool,
    /// Start of an incomplete character whose rest has not been written yet; for a terminal only.
    partial: Vec<u8>,
    width: Option<usize>,
    ink: Ink,
}

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

impl Out {
    /// Moves standard output to a private descriptor. From now on descriptor 1 is standard error.
    ///
    /// # Errors
    /// If the process has no free file descriptor.
    pub(crate) fn claim() -> io::Result<Self> {
        // Read first: afterwards descriptor 1 is standard error.
        let terminal = io::stdout().is_terminal();
        let ink = Ink::for_stdout();
        let width = if terminal {
            Term::stdout()
                .size_checked()
                .map(|(_, columns)| columns.into())
        } else {
            None
        };
        let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Out {
            file: BufWriter::with_capacity(1 << 16, File::from(private)),
            terminal,
            partial: Vec::new(),
            width,
            ink,
        })
    }

    /// Returns the width of the terminal; `None` if it is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Returns true if it is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the current size of the terminal; `None` if it is not a terminal, or its size is
    /// unknown.
    pub(crate) fn size(&self) -> Option<Size> {
        let size = Size::of(self.file.get_ref());
        size.filter(|_| self.terminal)
    }

    /// Returns the colours to use.
    pub(crate) fn ink(&self) -> Ink {
        self.ink
    }

    /// Writes a JSON value: on one line for programs, indented for a terminal.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            let text = serde_json::to_string_pretty(value)?;
            self.file.write_all(visible::json(&text).as_bytes())?;
        } else {
            serde_json::to_writer(&mut self.file, value)?;
        }
        self.file.write_all(b"\n")
    }

    /// Writes a JSON value on one line and flushes it.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            let text = serde_json::to_string(value)?;
            self.file.write_all(visible::json(&text).as_bytes())?;
        } else {
            serde_json::to_writer(&mut self.file, value)?;
        }
        self.file.write_all(b"\n")?;
        self.file.flush()
    }

    /// Returns the underlying file, for callers that buffer themselves and do not write through
    /// `self`.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.get_ref().try_clone()
    }
}

/// Returns the end of the complete characters: the position of an incomplete character at the end.
fn end_of_text(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => {
            // A character may also begin after invalid bytes.
            let start = bytes.len() - bytes.len().min(3);
            let begins = |at: &usize| {
                let rest = std::str::from_utf8(&bytes[*at..]);
                bytes[*at] >= 0xc2
                    && rest
                        .is_err_and(|error| error.error_len().is_none() && error.valid_up_to() == 0)
            };
            (start..bytes.len()).find(begins).unwrap_or(bytes.len())
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.file.write(bytes);
        }
        self.partial.extend_from_slice(bytes);
        let complete = end_of_text(&self.partial);
        let text = String::from_utf8_lossy(&self.partial[..complete]);
        self.file.write_all(visible::printed(&text).as_bytes())?;
        self.partial.drain(..complete);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
