//! Handle of a running program: reads its output in chunks, writes its input, stops it and waits
//! for its end.
//!
//! A task serves the program. A slow reader makes the program wait, as a pipe does. The deadline
//! and the cancel token do not wait for the reader.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::finished::Finished;
use crate::system::Sender;

/// Handle of a running program. Dropping it kills the program and all processes below it.
#[derive(Debug)]
pub struct Child {
    chunks: mpsc::Receiver<Chunk>,
    stop: CancellationToken,
    task: JoinHandle<Finished>,
    input: Option<Sender>,
    output_closed: CancellationToken,
}

/// The open input of a program. Dropping it ends the input.
#[derive(Debug)]
pub struct Input(Sender);

impl Input {
    /// Writes to the program's standard input. Waits until the program has read enough of what was
    /// written before.
    ///
    /// # Errors
    /// If the program does not read any more.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }
}

/// Bytes of output, as they arrived. Chunks continue beyond the part that is kept for [`Finished`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The output that the bytes were written to.
    pub stream: Stream,
    /// The bytes; they may begin and end inside a character.
    pub bytes: Vec<u8>,
}

/// One of the two outputs of a program.
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
        output_closed: CancellationToken,
    ) -> Self {
        Self {
            chunks,
            stop,
            task,
            input,
            output_closed,
        }
    }

    /// Returns the next chunk; `None` after the last one.
    pub async fn next(&mut self) -> Option<Chunk> {
        self.chunks.recv().await
    }

    /// Returns the token that is cancelled when the program, with all that it started, has closed its
    /// standard output. All of its chunks can be read without waiting then.
    pub fn closed_output(&self) -> CancellationToken {
        self.output_closed.clone()
    }

    /// Writes to the program's standard input, if that is [`Stdin::Open`](super::Stdin::Open).
    /// Waits until the program has read enough of what was written before.
    ///
    /// # Errors
    /// If the program does not read any more, or its input is not open.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(bytes).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Takes the program's input, so that it can be written while the output is read. `None` if it is
    /// not open.
    pub fn take_input(&mut self) -> Option<Input> {
        self.input.take().map(Input)
    }

    /// Ends the program's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Stops the program in the same way as its cancel token. It has ended when [`Child::wait`]
    /// returns.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end of the call. Drops the chunks that were not read; the result contains the
    /// part of them that was kept.
    pub async fn wait(mut self) -> Finished {
        self.chunks.close();
        self.input = None;
        match (&mut self.task).await {
            Ok(finished) => finished,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only the shutdown of the runtime aborts this task while we wait for it. This
                // future is not polled again then either.
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
