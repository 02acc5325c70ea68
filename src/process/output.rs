//! Our ends of a child's streams: what it writes is taken, what it reads is fed.
//!
//! Nothing here waits for more than readiness, so every step can be given up between two polls.
//! Failing to write is no error: a child may end, or close its input, without reading it.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use crate::process::capture::{Capture, Keep};
use crate::process::child::{Chunk, Stream};
use crate::process::finished::Captured;

/// The most that is taken from a pipe after the end: all that the largest pipe can hold, so that a
/// grandchild that writes without end does not hold us.
const MOST_LATE: usize = 1024 * 1024;

/// The reading end of one output.
pub(super) struct Output {
    stream: Stream,
    pipe: Option<pipe::Receiver>,
    capture: Capture,
}

impl Output {
    pub(super) fn new(stream: Stream, keep: Keep, reader: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stream,
            pipe: Some(pipe::Receiver::from_owned_fd(reader)?),
            capture: Capture::new(keep),
        })
    }

    /// Whether someone still holds the other end.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits until there is something to take, and then for a place in the sink. A sink that
    /// nobody reads any more is as good as none.
    pub(super) async fn ready<'sink>(
        &self,
        sink: Option<&'sink mpsc::Sender<Chunk>>,
    ) -> Option<mpsc::Permit<'sink, Chunk>> {
        if let Some(pipe) = &self.pipe {
            // An error shows again when it is read, and closes this output there.
            let _ = pipe.readable().await;
        }
        sink?.reserve().await.ok()
    }

    /// Takes what is there now.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>, permit: Option<mpsc::Permit<'_, Chunk>>) {
        let Some(pipe) = &self.pipe else {
            return;
        };
        buffer.clear();
        let result = pipe.try_read_buf(buffer);
        if let (Some(_), Some(permit)) = (self.keep(result, buffer), permit) {
            permit.send(self.chunk(buffer));
        }
    }

    /// Takes what is left in the pipe without waiting. It asks the pipe itself: the runtime may
    /// not have heard yet that there is something.
    pub(super) fn rest(&mut self, buffer: &mut Vec<u8>) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut taken = 0;
        while let Some(pipe) = &self.pipe
            && taken < MOST_LATE
        {
            buffer.clear();
            let result = rustix::io::read(pipe, rustix::buffer::spare_capacity(buffer));
            let Some(count) = self.keep(result.map_err(io::Error::from), buffer) else {
                break;
            };
            taken += count;
            chunks.push(self.chunk(buffer));
        }
        chunks
    }

    pub(super) fn into_captured(self) -> Captured {
        self.capture.into_captured()
    }

    /// Keeps what was read; `None` if there was nothing. The end closes this output.
    fn keep(&mut self, result: io::Result<usize>, bytes: &[u8]) -> Option<usize> {
        match result {
            Ok(count) if count > 0 => {
                self.capture.push(bytes);
                Some(count)
            }
            Err(error) if is_passing(&error) => None,
            Ok(_) | Err(_) => {
                self.pipe = None;
                None
            }
        }
    }

    fn chunk(&self, bytes: &[u8]) -> Chunk {
        Chunk {
            stream: self.stream,
            bytes: bytes.to_vec(),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The writing end of the input and what is still to be written.
pub(super) struct Feed {
    pipe: pipe::Sender,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed {
    pub(super) fn new(writer: OwnedFd, bytes: Vec<u8>) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe::Sender::from_owned_fd(writer)?,
            bytes,
            written: 0,
        })
    }

    pub(super) async fn writable(&self) {
        // An error shows again when it is written to.
        let _ = self.pipe.writable().await;
    }

    /// Writes what fits; whether there is nothing more to do.
    pub(super) fn push(&mut self) -> bool {
        match self.pipe.try_write(&self.bytes[self.written..]) {
            Ok(count) => {
                self.written += count;
                self.written == self.bytes.len()
            }
            Err(error) => !is_passing(&error),
        }
    }
}
