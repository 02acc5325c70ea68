//! Reads standard input as lines.
//!
//! If the system can report that input is available, the event loop reads it. Passing a message
//! from another thread would take longer than a small tool. A file is always readable, and the
//! system reports nothing for it, so a thread reads it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::thread;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::nonblocking;

/// Number of bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// Capacity of the line queue. A faster peer has to wait.
const QUEUE_CAPACITY: usize = 64;

/// Source of lines.
pub(crate) enum Input {
    Polled(Polled),
    /// Read by a thread.
    Handed(mpsc::Receiver<Line>),
}

impl Input {
    /// Starts reading `file`. Needs a runtime.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    #[expect(
        deprecated,
        reason = "the successor is `unsafe` because of types that change or lend their descriptor; \
                  a `File` does neither"
    )]
    pub(crate) fn open(file: File) -> io::Result<Input> {
        match AsyncFd::try_with_interest(file, Interest::READABLE) {
            Ok(file) => Ok(Input::Polled(Polled::new(file))),
            Err(refused) => Ok(Input::Handed(on_a_thread(refused.into_parts().0)?)),
        }
    }

    /// Returns the next line; `None` at the end of the input. Dropping this future and calling it
    /// again loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        match self {
            Input::Polled(told) => told.next().await,
            Input::Handed(lines) => lines.recv().await,
        }
    }
}

/// A descriptor that the system watches for us. Other processes may share it, so it is not set to
/// non-blocking mode, and a plain read could block.
pub(crate) struct Polled {
    file: AsyncFd<File>,
    assembly: Assembly,
    chunk: Box<[u8]>,
    /// Unprocessed part of the chunk.
    left: std::ops::Range<usize>,
    is_over: bool,
    /// True for a pipe. A read returns all available data of a pipe, but only one line of a
    /// terminal.
    is_pipe: bool,
}

impl Polled {
    fn new(file: AsyncFd<File>) -> Polled {
        let about = file.get_ref().metadata();
        Polled {
            is_pipe: about.is_ok_and(|about| about.file_type().is_fifo()),
            file,
            assembly: Assembly::default(),
            chunk: vec![0; CHUNK].into(),
            left: 0..0,
            is_over: false,
        }
    }

    async fn next(&mut self) -> Option<Line> {
        loop {
            if !self.left.is_empty() {
                let (used, line) = self.assembly.take(&self.chunk[self.left.clone()]);
                self.left.start += used;
                if line.is_some() {
                    return line;
                }
            }
            if self.is_over {
                return self.assembly.end();
            }
            // A failed read ends the conversation like the end of the input.
            let read = self.read().await.unwrap_or(0);
            self.left = 0..read;
            self.is_over = read == 0;
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        loop {
            let mut readable = self.file.readable().await?;
            match nonblocking::read(readable.get_inner(), &mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => readable.clear_ready(),
                Ok(read) => {
                    // A short read emptied the pipe. The system reports data that arrives later.
                    if self.is_pipe && (1..self.chunk.len()).contains(&read) {
                        readable.clear_ready();
                    }
                    return Ok(read);
                }
                failed => return failed,
            }
        }
    }
}

/// Reads `file` to its end on a thread. The channel closes at the end.
fn on_a_thread(mut file: File) -> io::Result<mpsc::Receiver<Line>> {
    let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
    let read = move || {
        let mut chunk = vec![0; CHUNK];
        let mut assembly = Assembly::default();
        loop {
            let read = match file.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A failed read ends the conversation like the end of the input.
                Err(_) | Ok(0) => break,
                Ok(read) => read,
            };
            let mut left = &chunk[..read];
            while !left.is_empty() {
                let (used, line) = assembly.take(left);
                left = &left[used..];
                if let Some(line) = line
                    && sender.blocking_send(line).is_err()
                {
                    return;
                }
            }
        }
        if let Some(line) = assembly.end() {
            let _ = sender.blocking_send(line);
        }
    };
    thread::Builder::new()
        .name("line-reader".into())
        .spawn(read)?;
    Ok(receiver)
}

/// Limit of a line's length in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// Length of the known beginning of a line that is too long, in bytes.
const HEAD_BYTES: usize = 1 << 10;

/// One line of input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    NotUtf8,
    /// A line of more than [`MAX_LINE_BYTES`], of which only the beginning is known.
    TooLong {
        head: String,
    },
}

/// An incomplete line.
///
/// The length of a line is limited. The bytes of a longer line are dropped as they arrive, and the
/// next line is read normally.
#[derive(Default)]
pub(super) struct Assembly {
    bytes: Vec<u8>,
    is_begun: bool,
    is_too_long: bool,
}

impl Assembly {
    /// Takes bytes from the front of `chunk`, up to the end of a line. Returns their number, and
    /// the line if it is complete.
    pub(super) fn take(&mut self, chunk: &[u8]) -> (usize, Option<Line>) {
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        self.is_begun |= !chunk.is_empty();
        if !self.is_too_long && self.bytes.len() + part.len() > MAX_LINE_BYTES {
            self.is_too_long = true;
            self.bytes.extend(part.iter().take(HEAD_BYTES));
            self.bytes.truncate(HEAD_BYTES);
            self.bytes.shrink_to_fit();
        }
        if !self.is_too_long {
            self.bytes.extend_from_slice(part);
        }
        match end {
            Some(end) => (end + 1, self.end()),
            None => (chunk.len(), None),
        }
    }

    /// Returns the incomplete line at the end of the input, if any.
    pub(super) fn end(&mut self) -> Option<Line> {
        let Assembly {
            bytes,
            is_begun,
            is_too_long,
        } = std::mem::take(self);
        is_begun.then(|| {
            if is_too_long {
                let head = String::from_utf8_lossy(&bytes).into_owned();
                Line::TooLong { head }
            } else {
                String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text)
            }
        })
    }
}
