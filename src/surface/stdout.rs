//! Our own standard output, kept away from everything else in the process.
//!
//! A tool runs inside this process and may write to file descriptor 1. So before any
//! tool starts, haft takes a private duplicate for its data and points descriptor 1 at
//! standard error: a tool can be noisy there, it can never corrupt our data.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use console::Term;
use serde::Serialize;

use crate::render::ink::Ink;
use crate::tool::visible;

/// Where data goes: the real standard output. What goes to a terminal has no character in it that hides
/// or reorders text; those in JSON become its own escapes.
pub(crate) struct Out {
    file: BufWriter<File>,
    terminal: bool,
    /// The start of a character whose rest has not been written yet; for a terminal only.
    partial: Vec<u8>,
    width: Option<usize>,
    ink: Ink,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Characters in a line.
    pub(crate) columns: usize,
    /// Lines; 0 where it does not say.
    pub(crate) rows: usize,
    /// The width and height of a character in pixels, where it says.
    pub(crate) cell: Option<(u16, u16)>,
}

impl Size {
    /// That of `terminal`; `None` where it is none, or does not say.
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
    /// Takes standard output for haft alone; from here on descriptor 1 is standard error.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub(crate) fn claim() -> io::Result<Self> {
        // Asked first: afterwards descriptor 1 says what standard error is.
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

    /// The width of the terminal; `None` where it is none.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether a person looks at it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// How large the terminal is at this moment; `None` where it is none, or does not say.
    pub(crate) fn size(&self) -> Option<Size> {
        let size = Size::of(self.file.get_ref());
        size.filter(|_| self.terminal)
    }

    /// The colours to use on it.
    pub(crate) fn ink(&self) -> Ink {
        self.ink
    }

    /// One JSON value: on one line for programs, indented for a person at a terminal.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            let text = serde_json::to_string_pretty(value)?;
            self.file.write_all(visible::json(&text).as_bytes())?;
        } else {
            serde_json::to_writer(&mut self.file, value)?;
        }
        self.file.write_all(b"\n")
    }

    /// One JSON value on one line, out at once.
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

    /// The bare file, for whoever does its own buffering and writes nothing through `self`.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.get_ref().try_clone()
    }
}

/// Where the text ends that is complete: before the first bytes of a character at its end.
fn end_of_text(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => {
            // Behind what is no text at all a character may begin, too.
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
