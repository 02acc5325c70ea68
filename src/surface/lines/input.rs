//! Standard input as lines.
//!
//! Where the system tells when there is something to read, the program's own loop reads it: a
//! message that is handed over by another thread comes later than a small tool takes. Of what is always
//! readable, such as a file, nothing is told; that is read on a thread.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::thread;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::assembly::Assembly;
pub(crate) use super::assembly::{LONGEST, Line};
use super::now;

/// How many bytes are read at once.
const CHUNK: usize = 1 << 16;

/// How many lines wait for us at most; a faster peer waits itself.
const WAITING: usize = 64;

/// Where lines come from.
pub(crate) enum Input {
    Told(Told),
    /// Read on a thread.
    Handed(mpsc::Receiver<Line>),
}

impl Input {
    /// Reads `file` from now on. Needs a runtime.
    ///
    /// # Errors
    /// When the system has no thread left.
    #[expect(
        deprecated,
        reason = "the successor is `unsafe` because of types that change or lend their descriptor; \
                  a `File` does neither"
    )]
    pub(crate) fn open(file: File) -> io::Result<Input> {
        match AsyncFd::try_with_interest(file, Interest::READABLE) {
            Ok(file) => Ok(Input::Told(Told::new(file))),
            Err(refused) => Ok(Input::Handed(on_a_thread(refused.into_parts().0)?)),
        }
    }

    /// The next line; `None` at the end of the input. Nothing is lost if this is dropped and called
    /// again.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        match self {
            Input::Told(told) => told.next().await,
            Input::Handed(lines) => lines.recv().await,
        }
    }
}

/// A descriptor that the system watches for us. Others may have it too, so it stays as it was: a read
/// of it would wait.
pub(crate) struct Told {
    file: AsyncFd<File>,
    assembly: Assembly,
    chunk: Box<[u8]>,
    /// What of the chunk is not yet taken.
    left: std::ops::Range<usize>,
    is_over: bool,
    /// It gives all that there is at once; a terminal gives one line of several.
    is_pipe: bool,
}

impl Told {
    fn new(file: AsyncFd<File>) -> Told {
        let about = file.get_ref().metadata();
        Told {
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
            // A read that fails ends the conversation like its regular end.
            let read = self.read().await.unwrap_or(0);
            self.left = 0..read;
            self.is_over = read == 0;
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        loop {
            let mut readable = self.file.readable().await?;
            match now::read(readable.get_inner(), &mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => readable.clear_ready(),
                Ok(read) => {
                    // What comes after the last that there was is told anew.
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

/// Reads `file` to its end; the channel closes there.
fn on_a_thread(mut file: File) -> io::Result<mpsc::Receiver<Line>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let read = move || {
        let mut chunk = vec![0; CHUNK];
        let mut assembly = Assembly::default();
        loop {
            let read = match file.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A read that fails ends the conversation like its regular end.
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
