//! Our ends of a child's streams: outputs are read, the input is written.
//!
//! Every await here only waits for readiness, so every step can be cancelled between two polls. A
//! failed write is not an error: a child may end, or close its input, without reading it.

use std::io::{self, ErrorKind};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::capture::{Capture, Keep};
use crate::child::{Chunk, Stream};
use crate::finished::Captured;
use crate::system::{self, OurEnd, Receiver, Sender};

/// Limit of the bytes that are read from a pipe after the end. The largest pipe holds this much, so
/// a grandchild that writes forever does not delay the end.
const MAX_LATE_BYTES: usize = 1024 * 1024;

/// Reading end of one output.
pub(super) struct Output {
    stream: Stream,
    pipe: Option<Receiver>,
    capture: Capture,
    /// Fires when no process holds the other end any more.
    closed: CancellationToken,
}

impl Output {
    pub(super) fn new(stream: Stream, keep: Keep, reader: OurEnd) -> io::Result<Self> {
        Ok(Self {
            stream,
            pipe: Some(system::receiver(reader)?),
            capture: Capture::new(keep),
            closed: CancellationToken::new(),
        })
    }

    /// Returns the token that fires when no process holds the other end any more.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Returns true if a process still holds the other end.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits for data, then for a free place in the sink. A sink whose reader is gone counts as
    /// absent.
    pub(super) async fn ready<'sink>(
        &self,
        sink: Option<&'sink mpsc::Sender<Chunk>>,
    ) -> Option<mpsc::Permit<'sink, Chunk>> {
        if let Some(pipe) = &self.pipe {
            // The next read returns the error again and closes this output.
            let _ = pipe.readable().await;
        }
        sink?.reserve().await.ok()
    }

    /// Reads the data that is available now.
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

    /// Reads what is left in the pipe without waiting.
    pub(super) fn rest(&mut self, buffer: &mut Vec<u8>) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut taken = 0;
        while let Some(pipe) = &self.pipe
            && taken < MAX_LATE_BYTES
        {
            buffer.clear();
            let result = system::read_now(pipe, buffer);
            let Some(count) = self.keep(result, buffer) else {
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

    /// Keeps what was read. Returns `None` if nothing could be read. The end of the stream closes
    /// this output.
    fn keep(&mut self, result: io::Result<usize>, bytes: &[u8]) -> Option<usize> {
        match result {
            Ok(count) if count > 0 => {
                self.capture.push(bytes);
                Some(count)
            }
            Err(error) if is_passing(&error) => None,
            Ok(_) | Err(_) => {
                self.pipe = None;
                self.closed.cancel();
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

/// Writing end of the input, with the bytes that are not written yet.
pub(super) struct Feed {
    pipe: Sender,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed {
    pub(super) fn new(writer: OurEnd, bytes: Vec<u8>) -> io::Result<Self> {
        Ok(Self {
            pipe: system::sender(writer)?,
            bytes,
            written: 0,
        })
    }

    pub(super) async fn writable(&self) {
        // The next write returns the error again.
        let _ = self.pipe.writable().await;
    }

    /// Writes as much as fits. Returns true if nothing is left to write.
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
