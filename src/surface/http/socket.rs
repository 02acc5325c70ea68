//! Socket of a client with a write timeout.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::connections::{Connection, Phase};
use super::stream::Stream;

/// Timeout for a client that does not read its response. A client that only listens to events may
/// take longer: its connection is closed when another one is needed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// The socket of a connection.
pub(super) struct Socket {
    stream: Stream,
    connection: Arc<Connection>,
    /// Runs while the client does not read.
    clock: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(super) fn new(stream: Stream, connection: Arc<Connection>) -> Socket {
        Socket {
            stream,
            connection,
            clock: None,
        }
    }

    /// Starts or stops the clock, depending on the result of a write.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let is_stuck = written.is_pending();
        if is_stuck != self.clock.is_some() {
            self.connection.note_write(is_stuck);
            self.clock = is_stuck.then(|| Box::pin(sleep(WRITE_TIMEOUT)));
        }
        let Some(clock) = &mut self.clock else {
            return written;
        };
        ready!(clock.as_mut().poll(cx));
        if self.connection.phase() == Phase::Standing {
            clock.as_mut().reset(Instant::now() + WRITE_TIMEOUT);
            return self.watch(cx, Poll::Pending);
        }
        let text = "the client reads nothing";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
