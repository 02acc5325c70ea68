//! A call on its way, which may outlive the request that started it.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::asking::{self, Inbox, Open};
use super::entry::Entry;
use super::log::{self, Lines};
use super::offer::{Offer, Offered};
use super::result;
use super::server::Server;
use crate::error::Error;
use crate::host::Events;
use crate::tool::{Call, Event, LogLine, LogListener, Outcome};

/// Updates beyond so many that still wait are passed over, the oldest first.
const WAITING: usize = 64;

type Ended = Result<Outcome, Error>;

/// Dropping it cancels the call.
pub(super) struct Execution {
    events: Events,
    lines: Lines,
    entry: Entry,
    inbox: Option<Inbox>,
    ended: Pin<Box<dyn Future<Output = Ended> + Send>>,
    /// How it ended, while what came before is still handed out.
    over: Option<Ended>,
    cancel: CancellationToken,
    /// What was offered when the call came.
    offer: Arc<Offer>,
    name: String,
    any_json: bool,
}

/// What happened.
pub(super) enum Step {
    /// A partial result.
    Update(Box<RawValue>),
    /// The tool logs something.
    Said(LogLine),
    /// The user is asked something.
    Asked(Open),
    /// It is over.
    Ended(Result<CallToolResult, ErrorData>),
}

impl Execution {
    /// Starts a call of `tool`; `log` and `lines` are the ends of what it logs. With `can_ask` its questions come out of [`Self::step`]; else
    /// it finds nobody to ask. `any_json`: see [`result::of_outcome`].
    pub(super) fn start(
        server: &Server,
        call: Call,
        (offer, name): (Arc<Offer>, String),
        (log, lines): (Option<Arc<dyn LogListener>>, Lines),
        can_ask: bool,
        any_json: bool,
    ) -> Execution {
        let host = log::heard(server.host(), log.clone());
        let (host, inbox) = match can_ask {
            true => {
                let (questions, inbox) = asking::channel(log);
                let user = Arc::new(questions);
                (host.asking(user.clone()).with_ui(user), Some(inbox))
            }
            false => (host, None),
        };
        let (mut running, entry) = Entry::start(&host, call, server.book());
        // Nobody else polls it while it is parked.
        let cancel = running.cancel_token();
        Execution {
            events: running.take_events(),
            lines,
            entry,
            inbox,
            ended: Box::pin(running.outcome()),
            over: None,
            cancel,
            offer,
            name,
            any_json,
        }
    }

    /// What happens next. Nothing is lost if this is dropped and called again.
    pub(super) async fn step(&mut self) -> Step {
        loop {
            let Execution {
                events,
                lines,
                entry,
                inbox,
                ended,
                over,
                ..
            } = self;
            let asked = async {
                match inbox {
                    Some(inbox) => inbox.recv().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                Some(event) = events.recv() => match event {
                    Event::Update(update) if events.waiting() <= WAITING => {
                        entry.update(&update);
                        return Step::Update(update);
                    }
                    _ => continue,
                },
                line = lines.next() => return Step::Said(line),
                Some(open) = asked, if over.is_none() => match open.is_withdrawn() {
                    true => continue,
                    false => return Step::Asked(open),
                },
                // Once more: what the tool said last may have come since the looks above.
                ended = ended, if over.is_none() => {
                    entry.end(&ended);
                    *over = Some(ended);
                    continue;
                }
                () = std::future::ready(()), if over.is_some() => {}
            }
            if let Some(ended) = self.over.take() {
                return Step::Ended(self.result(ended));
            }
        }
    }

    /// Asks the call to stop.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    fn result(&self, ended: Ended) -> Result<CallToolResult, ErrorData> {
        let tool = self.offer.find(&self.name);
        answer(ended, tool, self.any_json)
    }
}

/// What a call came to, as its client gets it.
pub(super) fn answer(
    ended: Ended,
    tool: Option<&Offered>,
    any_json: bool,
) -> Result<CallToolResult, ErrorData> {
    let ended = match tool {
        Some(tool) => tool.in_client_names(ended),
        None => ended,
    };
    match ended {
        Ok(outcome) => Ok(result::of_outcome(outcome, tool, any_json)),
        Err(error) => result::of_error(&error),
    }
}
