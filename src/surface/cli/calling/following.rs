//! A call on its way and the person who waits for it: Ctrl-C once asks it to stop, twice does not
//! wait for it any more.

use std::pin::Pin;

use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind};
use crate::host::RunningCall;
use crate::surface::signals::Signals;
use crate::tool::{Event, Outcome, Stopped};

/// A call that is followed to its end. Dropped before, it is cancelled.
pub(in crate::surface::cli) struct Following {
    stage: Stage,
    cancel: CancellationToken,
    tool: String,
}

enum Stage {
    Running(RunningCall),
    Ending(Pin<Box<dyn Future<Output = Result<Outcome, Error>>>>),
    /// It was told how it ended.
    Over,
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
            cancel: running.cancel_token(),
            stage: Stage::Running(running),
            tool: tool.to_owned(),
        }
    }

    /// The next thing to be seen. Dropping it loses nothing.
    pub(in crate::surface::cli) async fn next(&mut self, signals: &mut Signals) -> Seen {
        if let Stage::Running(running) = &mut self.stage {
            // However many updates there are, Ctrl-C is heard.
            let event = tokio::select! {
                biased;
                () = signals.next() => return self.interrupted(),
                event = running.next_event() => event,
            };
            match event {
                Some(event @ (Event::Started | Event::Update(_))) => return Seen::Event(event),
                Some(Event::Finished | Event::Rejected { .. }) | None => self.end(),
            }
        }
        let Stage::Ending(outcome) = &mut self.stage else {
            return std::future::pending().await;
        };
        tokio::select! {
            biased;
            ended = outcome => {
                self.stage = Stage::Over;
                Seen::Ended(ended)
            }
            () = signals.next() => self.interrupted(),
        }
    }

    fn end(&mut self) {
        if let Stage::Running(running) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.stage = Stage::Ending(Box::pin(running.outcome()));
        }
    }

    fn interrupted(&self) -> Seen {
        let tool = &self.tool;
        if self.cancel.is_cancelled() {
            let kind = ErrorKind::Stopped(Stopped::Cancelled);
            return Seen::Killed(Error::new(kind, format!("`{tool}` was killed")));
        }
        self.cancel.cancel();
        Seen::Cancelling(format!("cancelling `{tool}`; Ctrl-C again kills it\n"))
    }
}
