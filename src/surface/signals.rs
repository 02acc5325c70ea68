//! Signals that request the end of haft: Ctrl-C, a closed terminal, `kill`.
//!
//! A captured signal does not end the process by itself any more. The owner of [`Signals`] must
//! wait for signals and decide what they mean.

use std::io;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Captured signals.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    has_to_end: bool,
    heard: u32,
}

impl Signals {
    /// Captures the signals. Needs a runtime.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            has_to_end: false,
            heard: 0,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => self.has_to_end = true,
            _ = self.hang_up.recv() => self.has_to_end = true,
        }
        self.heard += 1;
    }

    /// Returns the number of signals received.
    pub(crate) fn heard(&self) -> u32 {
        self.heard
    }

    /// Returns true if one of them was not Ctrl-C. A program that continues may survive a Ctrl-C.
    pub(crate) fn has_to_end(&self) -> bool {
        self.has_to_end
    }

    /// Discards signals that were received but not handled yet, since they were not meant for later
    /// work.
    pub(crate) fn forget(&mut self) {
        while self.next().now_or_never().is_some() {}
    }
}
