//! A running program, seen from outside: its output in chunks, its end, a way to stop it.
//!
//! The work is done by the task behind it. A reader that is slow makes the program wait, as a pipe
//! does; the deadline and the cancel token do not wait for the reader.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::process::finished::Finished;

/// A running program. Dropping it kills the program and all below it.
#[derive(Debug)]
pub struct Child {
    chunks: mpsc::Receiver<Chunk>,
    stop: CancellationToken,
    task: JoinHandle<Finished>,
    input: Option<Sender>,
}

/// Some bytes of output, as they arrived. Chunks go on beyond what is kept for [`Finished`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where they were written.
    pub stream: Stream,
    /// The bytes; they may begin and end inside a character.
    pub bytes: Vec<u8>,
}

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Child {
    pub(super) fn new(
        chunks: mpsc::Receiver<Chunk>,
        stop: CancellationToken,
        task: JoinHandle<Finished>,
        input: Option<Sender>,
    ) -> Self {
        Self {
            chunks,
            stop,
            task,
            input,
        }
    }

    /// The next chunk; `None` after the last one.
    pub async fn next(&mut self) -> Option<Chunk> {
        self.chunks.recv().await
    }

    /// Gives the program something to read, where its input is [`Stdin::Open`](super::Stdin::Open).
    /// Waits while it does not read what it was given before.
    ///
    /// # Errors
    /// When it reads no more.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(bytes).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the program's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Stops the program as its cancel token would. It has ended when [`Child::wait`] returns.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end. Chunks that were not taken are let go; what is kept of them is in the
    /// result.
    pub async fn wait(mut self) -> Finished {
        self.chunks.close();
        self.input = None;
        match (&mut self.task).await {
            Ok(finished) => finished,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only the end of the runtime aborts it while we are here, and then nobody
                // polls us again either.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.task.abort();
    }
}
