//! Standard output as lines, written on a thread of its own.
//!
//! One writer, so that no two messages ever mix. Sending never waits: a peer that does
//! not read holds up nobody. What that costs in memory is bounded where it could grow
//! without end, at the updates: see [`Writer::is_behind`].

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// So many bytes may wait for the peer before updates are left out.
const BEHIND: usize = 8 << 20;

/// The sending side; clones share one thread.
#[derive(Clone)]
pub(crate) struct Writer {
    lines: Sender<Job>,
    waiting: Arc<AtomicUsize>,
    closed: CancellationToken,
}

enum Job {
    Line(Vec<u8>),
    End,
}

impl Writer {
    /// Starts the thread that writes to `out`.
    pub(crate) fn start(out: File) -> io::Result<Self> {
        let (lines, jobs) = mpsc::channel();
        let writer = Writer {
            lines,
            waiting: Arc::default(),
            closed: CancellationToken::new(),
        };
        let (waiting, closed) = (Arc::clone(&writer.waiting), writer.closed.clone());
        thread::Builder::new()
            .name("line-writer".into())
            .spawn(move || {
                // Either way nobody reads any more: that is all there is to say.
                let _ = write_all(&jobs, out, &waiting);
                closed.cancel();
            })?;
        Ok(writer)
    }

    /// Sends one message.
    pub(crate) fn send(&self, message: &impl Serialize) {
        let mut line = match serde_json::to_vec(message) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "a message cannot be written as JSON");
                return;
            }
        };
        line.push(b'\n');
        self.waiting.fetch_add(line.len(), Ordering::Relaxed);
        // The thread is gone when the peer is; the loop hears of it from `closed`.
        let _ = self.lines.send(Job::Line(line));
    }

    /// Whether the peer reads so slowly that what is not essential should wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > BEHIND
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until everything sent so far has been written.
    pub(crate) async fn finish(&self) {
        let _ = self.lines.send(Job::End);
        self.closed.cancelled().await;
    }
}

fn write_all(jobs: &Receiver<Job>, out: File, waiting: &AtomicUsize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    loop {
        let job = match jobs.try_recv() {
            Ok(job) => Some(job),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                out.flush()?;
                jobs.recv().ok()
            }
        };
        match job {
            Some(Job::Line(line)) => {
                out.write_all(&line)?;
                waiting.fetch_sub(line.len(), Ordering::Relaxed);
            }
            Some(Job::End) | None => return out.flush(),
        }
    }
}
