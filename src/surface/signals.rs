//! The signals that ask haft to end: Ctrl-C, a terminal that closes, `kill`.
//!
//! Once taken, a signal no longer ends the process by itself: whoever holds this must
//! listen. What a signal means is the listener's business.

use std::io;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the program to end, from now on ours.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    has_to_end: bool,
    heard: u32,
}

impl Signals {
    /// Takes the signals. Needs a runtime.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            has_to_end: false,
            heard: 0,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => self.has_to_end = true,
            _ = self.hang_up.recv() => self.has_to_end = true,
        }
        self.heard += 1;
    }

    /// How many there were.
    pub(crate) fn heard(&self) -> u32 {
        self.heard
    }

    /// Whether one of them was more than Ctrl-C, which a program that goes on may survive.
    pub(crate) fn has_to_end(&self) -> bool {
        self.has_to_end
    }

    /// Forgets a Ctrl-C that nobody has heeded yet: it was not meant for what comes.
    pub(crate) fn forget(&mut self) {
        while self.next().now_or_never().is_some() {}
    }
}
