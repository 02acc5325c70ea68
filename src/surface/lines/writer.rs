//! Standard output as lines.
//!
//! What is sent lies in one buffer, in order, so that no two messages ever mix. Sending never waits: a
//! peer that does not read holds up nobody. What that costs in memory is bounded where it could grow
//! without end, at the updates: see [`Writer::is_behind`].
//!
//! A thread writes, and may wait for the peer. Who has sent the last of what there is to say for now
//! can spare it the way there: [`Writer::flush`] writes what the peer's pipe takes at once.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::now;

/// So many bytes may wait for the peer before updates are left out.
const BEHIND: usize = 8 << 20;

/// So much is written at once.
const CHUNK: usize = 1 << 16;

/// Room that is given back when there is nothing to say.
const ROOMY: usize = 1 << 20;

/// The sending side; clones share one buffer and one thread.
#[derive(Clone)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    closed: CancellationToken,
}

struct Shared {
    /// Locked before `waiting` by whoever locks both.
    out: Mutex<Out>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// The stream, and what was taken to be written to it.
struct Out {
    file: File,
    taken: Vec<u8>,
    written: usize,
}

/// What was sent.
#[derive(Default)]
struct Waiting {
    /// Not even taken yet.
    bytes: Vec<u8>,
    /// How many bytes are not written, those that were taken included.
    unwritten: usize,
    /// Nothing comes any more, or nobody reads it.
    is_over: bool,
}

impl Writer {
    /// Starts the thread that writes to `out`.
    pub(crate) fn start(out: File) -> io::Result<Self> {
        let writer = Writer {
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
                // Either way nobody reads any more: that is all there is to say.
                let _ = writing.shared.write_all();
                writing.end();
            })?;
        Ok(writer)
    }

    /// Sends one message; the thread writes it.
    pub(crate) fn send(&self, message: &impl Serialize) {
        self.put(message);
        self.shared.changed.notify_one();
    }

    /// Sends one message that lies there until [`Self::flush`].
    pub(crate) fn put(&self, message: &impl Serialize) {
        let mut waiting = self.shared.waiting();
        if waiting.is_over {
            return;
        }
        let before = waiting.bytes.len();
        match serde_json::to_writer(&mut waiting.bytes, message) {
            Ok(()) => {
                waiting.bytes.push(b'\n');
                waiting.unwritten += waiting.bytes.len() - before;
            }
            Err(error) => {
                waiting.bytes.truncate(before);
                tracing::error!(%error, "a message cannot be written as JSON");
            }
        }
    }

    /// Writes what was sent, as far as that needs no wait; the rest is the thread's.
    pub(crate) fn flush(&self) {
        match self.shared.write_some() {
            Ok(true) => {}
            Ok(false) => self.shared.changed.notify_one(),
            Err(_) => self.end(),
        }
    }

    /// Nobody reads any more: neither the thread nor whoever waits has anything left to do.
    fn end(&self) {
        let mut waiting = self.shared.waiting();
        *waiting = Waiting {
            is_over: true,
            ..Waiting::default()
        };
        drop(waiting);
        self.shared.changed.notify_one();
        self.closed.cancel();
    }

    /// Whether the peer reads so slowly that what is not essential should wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.shared.waiting().unwritten > BEHIND
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until everything sent so far has been written. Nothing can be sent afterwards.
    pub(crate) async fn finish(&self) {
        self.shared.waiting().is_over = true;
        self.shared.changed.notify_one();
        self.closed.cancelled().await;
    }
}

impl Out {
    /// What is to be written next.
    fn next(&self) -> &[u8] {
        let end = self.taken.len().min(self.written + CHUNK);
        &self.taken[self.written..end]
    }
}

impl Shared {
    /// Writes until there is nothing any more.
    fn write_all(&self) -> io::Result<()> {
        loop {
            let mut waiting = self.waiting();
            while waiting.unwritten == 0 {
                if waiting.is_over {
                    return Ok(());
                }
                let changed = self.changed.wait(waiting);
                waiting = changed.unwrap_or_else(PoisonError::into_inner);
            }
            drop(waiting);
            let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
            if self.refill(&mut out) {
                let written = out.next().len();
                (&out.file).write_all(out.next())?;
                self.wrote(&mut out, written);
            }
        }
    }

    /// Writes what can be written without a wait; false if something is left.
    fn write_some(&self) -> io::Result<bool> {
        let mut out = match self.out.try_lock() {
            Ok(out) => out,
            Err(TryLockError::Poisoned(out)) => out.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        loop {
            if !self.refill(&mut out) {
                return Ok(true);
            }
            match now::write(&out.file, out.next()) {
                // Whoever takes nothing without an error is waited for, or given up, by the thread.
                Ok(0) => return Ok(false),
                Ok(written) => self.wrote(&mut out, written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes what was sent if all that was taken before is written; false if there is nothing.
    fn refill(&self, out: &mut Out) -> bool {
        if out.written == out.taken.len() {
            out.written = 0;
            out.taken.clear();
            if out.taken.capacity() > ROOMY {
                out.taken = Vec::new();
            }
            std::mem::swap(&mut out.taken, &mut self.waiting().bytes);
        }
        !out.taken.is_empty()
    }

    /// Notes that so many more bytes of what was taken are written.
    fn wrote(&self, out: &mut Out, written: usize) {
        out.written += written;
        let mut waiting = self.waiting();
        waiting.unwritten = waiting.unwritten.saturating_sub(written);
    }

    /// No code that holds the lock can panic, so a poisoned one is still whole.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
