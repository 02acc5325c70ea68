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
use super::request::Sender;
use super::result::{self, ResultForm};
use super::server::Server;
use crate::error::Error;
use crate::host::{Events, Host};
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
    /// The answer, while what came before is still handed out.
    over: Option<Result<CallToolResult, ErrorData>>,
    cancel: CancellationToken,
    /// What was offered when the call came.
    offer: Arc<Offer>,
    name: String,
    form: ResultForm,
    /// Where goes what there is to say of the result itself.
    log: Option<Arc<dyn LogListener>>,
    sender: Option<Sender>,
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
    /// Starts a call by `host`; `log` and `lines` are the ends of what its tool logs. With `can_ask` its
    /// questions come out of [`Self::step`]; else no user can be asked.
    pub(super) fn start(
        server: &Server,
        host: &Host,
        (call, sender): (Call, Option<Sender>),
        (offer, name): (Arc<Offer>, String),
        (log, lines): (Option<Arc<dyn LogListener>>, Lines),
        can_ask: bool,
        form: ResultForm,
    ) -> Execution {
        let host = log::heard(host, log.clone());
        let (host, inbox) = match can_ask {
            true => {
                let (questions, inbox) = asking::channel(log.clone());
                let user = Arc::new(questions);
                (host.asking(user.clone()).with_ui(user), Some(inbox))
            }
            false => (host, None),
        };
        let (mut running, entry) = Entry::start(&host, call, server.book(), sender.clone());
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
            form,
            log,
            sender,
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
                offer,
                name,
                form,
                log,
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
                    *over = Some(answer(ended, offer.find(name), *form, log.as_deref()));
                    continue;
                }
                () = std::future::ready(()), if over.is_some() => {}
            }
            if let Some(answer) = self.over.take() {
                return Step::Ended(answer);
            }
        }
    }

    /// Who made the call.
    pub(super) fn sender(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// Asks the call to stop.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// What a call came to, as its client gets it.
pub(super) fn answer(
    ended: Ended,
    tool: Option<&Offered>,
    form: ResultForm,
    log: Option<&dyn LogListener>,
) -> Result<CallToolResult, ErrorData> {
    let ended = match tool {
        Some(tool) => tool.in_client_names(ended),
        None => ended,
    };
    match ended {
        Ok(outcome) => Ok(result::of_outcome(outcome, tool, form, log)),
        Err(error) => result::of_error(&error),
    }
}
