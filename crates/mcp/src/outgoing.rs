//! Messages to a program, which one task writes to its standard input.
//!
//! A write costs more than a small call. So the messages that are sent in one turn of the event loop
//! are written together: a task that is woken runs after those that are ready already. Sending does not
//! wait, so that a program that reads nothing delays no other work.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use haft_process::Input;
use memchr::memchr2;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Time for which the end waits for a write that the program does not accept.
const WRITER_TIMEOUT: Duration = Duration::from_millis(100);

/// Capacity above which an empty buffer is freed.
const ROOMY: usize = 1 << 20;

/// The sending side. Clones share one task.
#[derive(Clone)]
pub(crate) struct Outgoing(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Wakes the task.
    sent: Notify,
    /// Wakes the callers that wait for a write.
    written: Notify,
    closing: CancellationToken,
}

#[derive(Default)]
struct State {
    /// Lines that the task has not taken yet.
    lines: Vec<u8>,
    /// Number of bytes that were sent so far.
    sent: u64,
    /// Number of bytes that the program has accepted so far.
    written: u64,
    /// The reason for which no more is written.
    error: Option<io::Error>,
}

impl Outgoing {
    /// Starts the task, which calls `fails` with the number of the bytes that were written if the
    /// program does not read any more. Needs a runtime.
    pub(crate) fn start(
        input: Option<Input>,
        fails: impl Fn(u64, &io::Error) + Send + 'static,
    ) -> Outgoing {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            sent: Notify::new(),
            written: Notify::new(),
            closing: CancellationToken::new(),
        });
        match input {
            Some(input) => drop(tokio::spawn(write(shared.clone(), input, fails))),
            None => shared.end(io::ErrorKind::BrokenPipe.into()),
        }
        Outgoing(shared)
    }

    /// Sends a message. Returns the number of the bytes that were sent so far.
    ///
    /// # Errors
    /// If the program does not read any more.
    pub(crate) fn send(&self, message: &impl Serialize) -> io::Result<u64> {
        let mut state = self.0.state.lock();
        if let Some(error) = &state.error {
            return Err(again(error));
        }
        let begin = state.lines.len();
        put_line(&mut state.lines, message)?;
        state.sent += (state.lines.len() - begin) as u64;
        let sent = state.sent;
        drop(state);
        // Otherwise the task was woken before.
        if begin == 0 {
            self.0.sent.notify_one();
        }
        Ok(sent)
    }

    /// Waits until the program has accepted this number of bytes.
    ///
    /// # Errors
    /// If the program does not read any more.
    pub(crate) async fn written(&self, sent: u64) -> io::Result<()> {
        loop {
            let mut written = pin!(self.0.written.notified());
            // Enabled before the check, so that a write between check and wait is noticed.
            written.as_mut().enable();
            {
                let state = self.0.state.lock();
                if state.written >= sent {
                    return Ok(());
                }
                if let Some(error) = &state.error {
                    return Err(again(error));
                }
            }
            written.await;
        }
    }

    /// Ends the input of the program, after what was sent before.
    pub(crate) fn close(&self) {
        self.0.closing.cancel();
    }

    /// Returns true if the input was ended by [`Self::close`].
    pub(crate) fn is_closed(&self) -> bool {
        self.0.closing.is_cancelled()
    }
}

impl Shared {
    fn end(&self, error: io::Error) {
        let mut state = self.state.lock();
        state.error = Some(error);
        state.lines = Vec::new();
        drop(state);
        self.written.notify_waiters();
    }
}

/// Adds the line of a message.
pub(crate) fn put_line(lines: &mut Vec<u8>, message: &impl Serialize) -> io::Result<()> {
    let begin = lines.len();
    if let Err(error) = serde_json::to_writer(&mut *lines, message) {
        lines.truncate(begin);
        return Err(error.into());
    }
    // JSON texts of callers may have line ends between their tokens.
    let mut at = begin;
    while let Some(found) = memchr2(b'\n', b'\r', &lines[at..]) {
        at += found;
        lines[at] = b' ';
    }
    lines.push(b'\n');
    Ok(())
}

/// Writes until the input is closed or the program does not read any more.
async fn write(shared: Arc<Shared>, mut input: Input, fails: impl Fn(u64, &io::Error)) {
    let mut closing = pin!(shared.closing.cancelled());
    let mut lines = Vec::new();
    let error = loop {
        std::mem::swap(&mut lines, &mut shared.state.lock().lines);
        if lines.is_empty() {
            tokio::select! {
                biased;
                () = shared.sent.notified() => continue,
                () = &mut closing => break io::ErrorKind::BrokenPipe.into(),
            }
        }
        let timeout = async {
            closing.as_mut().await;
            sleep(WRITER_TIMEOUT).await;
        };
        let written = tokio::select! {
            biased;
            written = input.write(&lines) => written,
            () = timeout => Err(io::ErrorKind::TimedOut.into()),
        };
        if let Err(error) = written {
            break error;
        }
        shared.state.lock().written += lines.len() as u64;
        shared.written.notify_waiters();
        lines.clear();
        if lines.capacity() > ROOMY {
            lines = Vec::new();
        }
    };
    if !shared.closing.is_cancelled() {
        let written = shared.state.lock().written;
        fails(written, &error);
    }
    shared.end(error);
}

/// Returns the same error once more.
pub(crate) fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}
