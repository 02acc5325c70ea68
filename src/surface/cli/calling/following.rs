//! A call on its way and the person who waits for it: Ctrl-C once asks it to stop, twice ends it at
//! once.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::error::{Error, ErrorKind};
use crate::host::{RunningCall, Stopper};
use crate::surface::signals::Signals;
use crate::tool::{Event, Outcome, Stopped};

/// How long the end of a call is waited for that is ended by force: what hangs in the system, or in a
/// container that goes slowly, does not keep the prompt.
const FORCE_TAKES: Duration = Duration::from_millis(500);

/// A call that is followed to its end. Dropped before, it is cancelled.
pub(in crate::surface::cli) struct Following {
    stage: Stage,
    stopper: Stopper,
    /// How long it is waited for, once it is ended by force.
    until: Option<Instant>,
    tool: String,
}

enum Stage {
    Running(RunningCall),
    Ending(Pin<Box<dyn Future<Output = Result<Outcome, Error>>>>),
    /// It was told how it ended.
    Over,
}

/// What comes next.
enum Step {
    Event(Option<Event>),
    Ended(Result<Outcome, Error>),
    /// Ctrl-C, or something else that asks haft to end.
    Signal,
    /// Force did not end it in time.
    TooLate,
}

/// What there is to be seen of it.
pub(in crate::surface::cli) enum Seen {
    /// It has started, or has an update.
    Event(Event),
    /// It was asked to stop; the line says so.
    Cancelling(String),
    /// How it ended.
    Ended(Result<Outcome, Error>),
    /// Nobody waits for its end any more.
    Killed(Error),
}

impl Following {
    /// Follows a call to `tool`.
    pub(in crate::surface::cli) fn new(running: RunningCall, tool: &str) -> Self {
        Following {
            stopper: running.stopper(),
            until: None,
            stage: Stage::Running(running),
            tool: tool.to_owned(),
        }
    }

    /// The next thing to be seen. Dropping it loses nothing.
    pub(in crate::surface::cli) async fn next(&mut self, signals: &mut Signals) -> Seen {
        loop {
            match self.stage.next(signals, self.until).await {
                Step::Event(Some(event @ (Event::Started | Event::Update(_)))) => {
                    return Seen::Event(event);
                }
                Step::Event(Some(Event::Finished | Event::Rejected { .. }) | None) => self.end(),
                Step::Ended(ended) => {
                    self.stage = Stage::Over;
                    return Seen::Ended(ended);
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

    /// Whether the person has asked twice.
    pub(in crate::surface::cli) fn was_hurried(&self) -> bool {
        self.until.is_some()
    }

    fn end(&mut self) {
        if let Stage::Running(running) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.stage = Stage::Ending(Box::pin(running.outcome()));
        }
    }

    fn interrupted(&mut self) -> Option<Seen> {
        if self.was_hurried() {
            return Some(self.given_up());
        }
        if self.stopper.was_used() {
            self.stopper.kill();
            self.until = Some(Instant::now() + FORCE_TAKES);
            return None;
        }
        self.stopper.cancel();
        let tool = &self.tool;
        let line = format!("cancelling `{tool}`; Ctrl-C again kills it\n");
        Some(Seen::Cancelling(line))
    }

    fn given_up(&self) -> Seen {
        let kind = ErrorKind::Stopped(Stopped::Cancelled);
        Seen::Killed(Error::new(
            kind,
            format!("`{}` was killed, but has not ended yet", self.tool),
        ))
    }
}

impl Stage {
    /// What comes first. Dropping it loses nothing.
    async fn next(&mut self, signals: &mut Signals, until: Option<Instant>) -> Step {
        match self {
            Stage::Running(running) => tokio::select! {
                biased;
                // However many updates there are, Ctrl-C is heard.
                () = signals.next() => Step::Signal,
                () = passed(until) => Step::TooLate,
                event = running.next_event() => Step::Event(event),
            },
            Stage::Ending(outcome) => tokio::select! {
                biased;
                // What has ended was not killed.
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
