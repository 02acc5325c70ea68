//! Standard output as lines.
//!
//! What is sent lies in one buffer, in order, so that no two messages ever mix. Sending never waits: a
//! peer that does not read holds up nobody. What that costs in memory is bounded where it could grow
//! without end, at the updates: see [`Writer::is_behind`].
//!
//! A thread writes, and may wait for the peer. Who has sent the last of what there is to say for now
//! can spare it the way there: [`Writer::flush`] writes what the peer's pipe takes at once.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use rustix::event::PollFlags;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::is_ready;

/// So many bytes may wait for the peer before updates are left out.
const BEHIND: usize = 8 << 20;

/// A pipe that takes anything takes so much without a wait (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// So much is written at once where a wait does no harm.
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
    out: Mutex<File>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// What is to be written.
#[derive(Default)]
struct Waiting {
    bytes: VecDeque<u8>,
    /// Nothing comes any more, or nobody reads it.
    is_over: bool,
}

impl Writer {
    /// Starts the thread that writes to `out`.
    pub(crate) fn start(out: File) -> io::Result<Self> {
        let writer = Writer {
            shared: Arc::new(Shared {
                out: Mutex::new(out),
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
        let mut line = match serde_json::to_vec(message) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "a message cannot be written as JSON");
                return;
            }
        };
        line.push(b'\n');
        let mut waiting = self.shared.waiting();
        if !waiting.is_over {
            waiting.bytes.extend(line);
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
        waiting.is_over = true;
        waiting.bytes = VecDeque::new();
        drop(waiting);
        self.shared.changed.notify_one();
        self.closed.cancel();
    }

    /// Whether the peer reads so slowly that what is not essential should wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.shared.waiting().bytes.len() > BEHIND
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

impl Shared {
    /// Writes until there is nothing any more.
    fn write_all(&self) -> io::Result<()> {
        loop {
            let mut waiting = self.waiting();
            while waiting.bytes.is_empty() {
                if waiting.is_over {
                    return Ok(());
                }
                let changed = self.changed.wait(waiting);
                waiting = changed.unwrap_or_else(PoisonError::into_inner);
            }
            drop(waiting);
            let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
            let chunk = self.waiting().take(CHUNK);
            out.write_all(&chunk)?;
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
            if self.waiting().bytes.is_empty() {
                return Ok(true);
            }
            if !is_ready(&out, PollFlags::OUT)? {
                return Ok(false);
            }
            let chunk = self.waiting().take(AT_ONCE);
            out.write_all(&chunk)?;
        }
    }

    /// No code that holds the lock can panic, so a poisoned one is still whole.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// The first bytes, at most so many.
    fn take(&mut self, most: usize) -> Vec<u8> {
        let length = self.bytes.len().min(most);
        let chunk = self.bytes.drain(..length).collect();
        if self.bytes.is_empty() && self.bytes.capacity() > ROOMY {
            self.bytes = VecDeque::new();
        }
        chunk
    }
}
