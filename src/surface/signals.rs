//! The signals that ask haft to end: Ctrl-C, a terminal that closes, `kill`.
//!
//! Once taken, a signal no longer ends the process by itself: whoever holds this must
//! listen. What a signal means is the listener's business.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the program to end, from now on ours.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
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
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
