//! Waits for a running call and handles Ctrl-C: the first one cancels the call, the second one
//! kills it.

use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, sleep_until};

use crate::host::RunningCall;
use crate::surface::signals::Signals;
use haft_tool::{Cancellation, Event, Stopped};
use haft_tool::{Error, ErrorKind};

/// Time to wait for a call after it was killed. A call that hangs in the system, or a container
/// that stops slowly, must not block the prompt.
const FORCE_TAKES: Duration = Duration::from_millis(500);

/// A call that is followed to its end. Dropping it cancels the call.
pub(in crate::surface::cli) struct CallWaiter {
    running: RunningCall,
    cancellation: Cancellation,
    /// Deadline for the end of the call, once it was killed.
    until: Option<Instant>,
    tool: String,
}

/// Event for the caller to show.
pub(in crate::surface::cli) enum WaitEvent {
    /// The next event of the call.
    Event(Event),
    /// The call was asked to stop. Contains the message for the user.
    Cancelling(String),
    /// The call was killed but has not ended, so the wait was given up.
    Killed(Error),
}

impl CallWaiter {
    /// Starts to follow a call to `tool`.
    pub(in crate::surface::cli) fn new(running: RunningCall, tool: &str) -> Self {
        CallWaiter {
            cancellation: running.cancellation(),
            running,
            until: None,
            tool: tool.to_owned(),
        }
    }

    /// Waits for the next event. Cancel safe.
    pub(in crate::surface::cli) async fn next(&mut self, signals: &mut Signals) -> WaitEvent {
        loop {
            // The end comes first, so that an ended call does not count as killed.
            if self.was_hurried()
                && let Some(event) = self.running.next_event().now_or_never()
            {
                return WaitEvent::Event(event);
            }
            tokio::select! {
                biased;
                // Signals come first, so that many updates cannot delay Ctrl-C.
                () = signals.next() => if let Some(seen) = self.interrupted() {
                    return seen;
                },
                () = passed(self.until) => return self.given_up(),
                event = self.running.next_event() => return WaitEvent::Event(event),
            }
        }
    }

    /// Returns true after the second Ctrl-C.
    pub(in crate::surface::cli) fn was_hurried(&self) -> bool {
        self.until.is_some()
    }

    fn interrupted(&mut self) -> Option<WaitEvent> {
        if self.was_hurried() {
            return Some(self.given_up());
        }
        if self.cancellation.is_cancelled() {
            self.cancellation.kill();
            self.until = Some(Instant::now() + FORCE_TAKES);
            return None;
        }
        self.cancellation.cancel();
        let tool = &self.tool;
        let line = format!("cancelling `{tool}`; Ctrl-C again kills it\n");
        Some(WaitEvent::Cancelling(line))
    }

    fn given_up(&self) -> WaitEvent {
        let kind = ErrorKind::Stopped(Stopped::Cancelled);
        WaitEvent::Killed(Error::new(
            kind,
            format!("`{}` was killed, but has not ended yet", self.tool),
        ))
    }
}

async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
