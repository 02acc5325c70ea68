//! Private standard output of haft.
//!
//! A tool runs inside this process and may write to file descriptor 1. So before any tool starts,
//! haft duplicates the descriptor for its own data and points descriptor 1 at standard error.
//! Output of a tool goes there and cannot corrupt haft's data.
#![allow(
    clippy::disallowed_methods,
    reason = "the only module that writes to standard output"
)]

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

use console::Term;
use serde::Serialize;

use haft_render::style::Ink;
use haft_tool::TerminalText;

use super::terminal::{Size, TerminalFile};

/// Writer of the real standard output. Text for people is a [`TerminalText`]. Data of programs stays
/// as it is in a pipe or a file; a terminal gets it cleaned.
pub(crate) struct Out {
    file: BufWriter<File>,
    terminal: bool,
    width: Option<usize>,
    ink: Ink,
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
            width,
            ink,
        })
    }

    /// Returns a writer for a file.
    pub(crate) fn to_file(file: File) -> Self {
        Out {
            file: BufWriter::new(file),
            terminal: false,
            width: None,
            ink: Ink::none(),
        }
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

    /// Writes text for people.
    pub(crate) fn print(&mut self, text: &TerminalText) -> io::Result<()> {
        self.file.write_all(text.as_str().as_bytes())
    }

    /// Writes text for people and a line feed.
    pub(crate) fn print_line(&mut self, text: &TerminalText) -> io::Result<()> {
        self.print(text)?;
        self.file.write_all(b"\n")
    }

    /// Writes text that is data: unchanged for programs, as prose for a terminal.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        if self.terminal {
            self.print(&TerminalText::from_prose(text))
        } else {
            self.file.write_all(text.as_bytes())
        }
    }

    /// Writes what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Writes a JSON value: on one line for programs, indented for a terminal.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            let text = serde_json::to_string_pretty(value)?;
            self.print(&TerminalText::from_json(&text))?;
        } else {
            serde_json::to_writer(&mut self.file, value)?;
        }
        self.file.write_all(b"\n")
    }

    /// Writes a JSON value on one line and flushes it.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        if self.terminal {
            let text = serde_json::to_string(value)?;
            self.print(&TerminalText::from_json(&text))?;
        } else {
            serde_json::to_writer(&mut self.file, value)?;
        }
        self.file.write_all(b"\n")?;
        self.file.flush()
    }

    /// Returns the underlying file for the messages of a protocol.
    pub(crate) fn protocol_file(&self) -> io::Result<File> {
        self.file.get_ref().try_clone()
    }

    /// Returns the underlying file for text that does not pass the buffer of `self`.
    pub(crate) fn terminal_file(&self) -> io::Result<TerminalFile> {
        Ok(TerminalFile::new(self.file.get_ref().try_clone()?))
    }
}
