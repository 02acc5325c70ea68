//! Writes standard output as lines.
//!
//! Messages are kept in one buffer, in order, so they never mix. Sending never blocks: a peer that
//! does not read delays no other work. Updates are the only messages that could fill the memory
//! without limit, so they can be skipped: see [`Writer::is_behind`].
//!
//! A thread writes, and may block. A caller that has sent its last message for now can avoid the
//! switch to that thread: [`Writer::flush`] writes what the peer's pipe accepts at once.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::nonblocking;
use haft_tool::TerminalText;

/// Number of unwritten bytes above which updates are skipped.
const BEHIND: usize = 8 << 20;

/// Number of bytes that are written at once.
const CHUNK: usize = 1 << 16;

/// Capacity above which an empty buffer is freed.
const ROOMY: usize = 1 << 20;

/// The sending side; clones share one buffer and one thread.
#[derive(Clone)]
pub(crate) struct Writer {
    /// Set if people read the messages: they get the same JSON, without characters that control the
    /// terminal.
    is_terminal: bool,
    shared: Arc<Shared>,
    closed: CancellationToken,
}

struct Shared {
    /// Lock order: this lock is taken before `waiting`.
    out: Mutex<Out>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// The stream, and the bytes that are being written to it.
struct Out {
    file: File,
    taken: Vec<u8>,
    written: usize,
}

/// Messages that were sent.
#[derive(Default)]
struct Waiting {
    /// Bytes that were not taken for writing yet.
    bytes: Vec<u8>,
    /// Number of unwritten bytes, including those that were taken for writing.
    unwritten: usize,
    /// True if no more messages are sent, or the peer does not read any more.
    is_over: bool,
}

impl Writer {
    /// Starts the thread that writes to `out`.
    pub(crate) fn start(out: File) -> io::Result<Self> {
        let writer = Writer {
            is_terminal: out.is_terminal(),
            shared: Arc::new(Shared {
                out: Mutex::new(Out {
                    file: out,
                    taken: Vec::new(),
                    written: 0,
                }),
                waiting: Mutex::default(),
                changed: Condvar::new(),
            }),
            closed: CancellationToken::new(),
        };
        let writing = writer.clone();
        thread::Builder::new()
            .name("line-writer".into())
            .spawn(move || {
                // The peer does not read any more in either case, so the error is not reported.
                let _ = writing.shared.write_all();
                writing.end();
            })?;
        Ok(writer)
    }

    /// Sends one message, which the thread writes.
    pub(crate) fn send(&self, message: &impl Serialize) {
        self.put(message);
        self.shared.changed.notify_one();
    }

    /// Buffers one message until [`Self::flush`].
    pub(crate) fn put(&self, message: &impl Serialize) {
        let mut waiting = self.shared.waiting.lock();
        if waiting.is_over {
            return;
        }
        let before = waiting.bytes.len();
        match serde_json::to_writer(&mut waiting.bytes, message) {
            Ok(()) => {
                if self.is_terminal {
                    let written = waiting.bytes.split_off(before);
                    let cleaned = TerminalText::from_json(&String::from_utf8_lossy(&written));
                    waiting.bytes.extend_from_slice(cleaned.as_bytes());
                }
                waiting.bytes.push(b'\n');
                waiting.unwritten += waiting.bytes.len() - before;
            }
            Err(error) => {
                waiting.bytes.truncate(before);
                tracing::error!(%error, "a message cannot be written as JSON");
            }
        }
    }

    /// Writes the buffered messages as far as possible without blocking. The thread writes the
    /// rest.
    pub(crate) fn flush(&self) {
        match self.shared.write_some() {
            Ok(true) => {}
            Ok(false) => drop(self.shared.changed.notify_one()),
            Err(_) => self.end(),
        }
    }

    /// Ends the thread and wakes waiting callers, because the peer does not read any more.
    fn end(&self) {
        let mut waiting = self.shared.waiting.lock();
        *waiting = Waiting {
            is_over: true,
            ..Waiting::default()
        };
        drop(waiting);
        self.shared.changed.notify_one();
        self.closed.cancel();
    }

    /// Returns true if the peer reads so slowly that inessential messages should wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.unwritten() > BEHIND
    }

    /// Returns the number of bytes that the peer has not accepted yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.shared.waiting.lock().unwritten
    }

    /// Waits until the peer does not read any more.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until everything sent so far has been written. Nothing can be sent afterwards.
    pub(crate) async fn finish(&self) {
        self.shared.waiting.lock().is_over = true;
        self.shared.changed.notify_one();
        self.closed.cancelled().await;
    }
}

impl Out {
    /// Returns the bytes to write next.
    fn next(&self) -> &[u8] {
        let end = self.taken.len().min(self.written + CHUNK);
        &self.taken[self.written..end]
    }
}

impl Shared {
    /// Writes until everything is written and no more messages are sent.
    fn write_all(&self) -> io::Result<()> {
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.unwritten == 0 {
                if waiting.is_over {
                    return Ok(());
                }
                self.changed.wait(&mut waiting);
            }
            drop(waiting);
            let mut out = self.out.lock();
            if self.refill(&mut out) {
                let written = out.next().len();
                (&out.file).write_all(out.next())?;
                self.wrote(&mut out, written);
            }
        }
    }

    /// Writes what can be written without blocking; returns false if bytes are left.
    fn write_some(&self) -> io::Result<bool> {
        let Some(mut out) = self.out.try_lock() else {
            return Ok(false);
        };
        loop {
            if !self.refill(&mut out) {
                return Ok(true);
            }
            match nonblocking::write(&out.file, out.next()) {
                // The thread handles a stream that accepts no bytes without an error.
                Ok(0) => return Ok(false),
                Ok(written) => self.wrote(&mut out, written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the sent messages if all bytes taken before are written; returns false if nothing is
    /// left.
    fn refill(&self, out: &mut Out) -> bool {
        if out.written == out.taken.len() {
            out.written = 0;
            out.taken.clear();
            if out.taken.capacity() > ROOMY {
                out.taken = Vec::new();
            }
            std::mem::swap(&mut out.taken, &mut self.waiting.lock().bytes);
        }
        !out.taken.is_empty()
    }

    /// Records that some of the taken bytes are written.
    fn wrote(&self, out: &mut Out, written: usize) {
        out.written += written;
        let mut waiting = self.waiting.lock();
        waiting.unwritten = waiting.unwritten.saturating_sub(written);
    }
}
