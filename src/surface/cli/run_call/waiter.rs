//! Waits for a running call and handles Ctrl-C: the first one cancels the call, the second one
//! kills it.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::host::{CancelHandle, RunningCall};
use crate::surface::signals::Signals;
use haft_tool::{Error, ErrorKind};
use haft_tool::{Event, Outcome, Stopped};

/// Time to wait for a call after it was killed. A call that hangs in the system, or a container
/// that stops slowly, must not block the prompt.
const FORCE_TAKES: Duration = Duration::from_millis(500);

/// A call that is followed to its end. Dropping it cancels the call.
pub(in crate::surface::cli) struct CallWaiter {
    stage: Stage,
    stopper: CancelHandle,
    /// Deadline for the end of the call, once it was killed.
    until: Option<Instant>,
    tool: String,
}

enum Stage {
    Running(RunningCall),
    Ending(Pin<Box<dyn Future<Output = Result<Outcome, Error>>>>),
    /// The outcome has been returned.
    Over,
}

/// Next thing to handle.
enum Step {
    Event(Option<Event>),
    Ended(Result<Outcome, Error>),
    /// Ctrl-C, or another signal that asks haft to end.
    Signal,
    /// The killed call did not end in time.
    TooLate,
}

/// Event for the caller to show.
pub(in crate::surface::cli) enum WaitEvent {
    /// The call has started, or sent an update.
    Event(Event),
    /// The call was asked to stop. Contains the message for the user.
    Cancelling(String),
    /// Outcome of the call.
    Ended(Result<Outcome, Error>),
    /// The call was killed but has not ended, so the wait was given up.
    Killed(Error),
}

impl CallWaiter {
    /// Starts to follow a call to `tool`.
    pub(in crate::surface::cli) fn new(running: RunningCall, tool: &str) -> Self {
        CallWaiter {
            stopper: running.stopper(),
            until: None,
            stage: Stage::Running(running),
            tool: tool.to_owned(),
        }
    }

    /// Waits for the next event. Cancel safe.
    pub(in crate::surface::cli) async fn next(&mut self, signals: &mut Signals) -> WaitEvent {
        loop {
            match self.stage.next(signals, self.until).await {
                Step::Event(Some(event @ (Event::Started | Event::Update(_)))) => {
                    return WaitEvent::Event(event);
                }
                Step::Event(Some(Event::Finished | Event::Rejected { .. }) | None) => self.end(),
                Step::Ended(ended) => {
                    self.stage = Stage::Over;
                    return WaitEvent::Ended(ended);
                }
                Step::Signal => {
                    if let Some(seen) = self.interrupted() {
                        return seen;
                    }
                }
                Step::TooLate => return self.given_up(),
            }
        }
    }

    /// Returns true after the second Ctrl-C.
    pub(in crate::surface::cli) fn was_hurried(&self) -> bool {
        self.until.is_some()
    }

    fn end(&mut self) {
        if let Stage::Running(running) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.stage = Stage::Ending(Box::pin(running.outcome()));
        }
    }

    fn interrupted(&mut self) -> Option<WaitEvent> {
        if self.was_hurried() {
            return Some(self.given_up());
        }
        if self.stopper.is_cancelled() {
            self.stopper.kill();
            self.until = Some(Instant::now() + FORCE_TAKES);
            return None;
        }
        self.stopper.cancel();
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

impl Stage {
    /// Returns the first thing that happens. Cancel safe.
    async fn next(&mut self, signals: &mut Signals, until: Option<Instant>) -> Step {
        match self {
            Stage::Running(running) => tokio::select! {
                biased;
                // Signals come first, so that many updates cannot delay Ctrl-C.
                () = signals.next() => Step::Signal,
                () = passed(until) => Step::TooLate,
                event = running.next_event() => Step::Event(event),
            },
            Stage::Ending(outcome) => tokio::select! {
                biased;
                // The outcome comes first, so that an ended call does not count as killed.
                ended = outcome => Step::Ended(ended),
                () = signals.next() => Step::Signal,
                () = passed(until) => Step::TooLate,
            },
            Stage::Over => std::future::pending().await,
        }
    }
}

async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
