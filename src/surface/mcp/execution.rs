//! Handle of a running call, which may outlive the request that started it.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::elicitation::{self, Inbox, Open};
use super::log::{self, Lines};
use super::observed_call::Entry;
use super::request::Sender;
use super::result::{self, ResultForm};
use super::server::Server;
use super::tool_list::{OfferedTool, ToolList};
use crate::host::{Events, Host};
use haft_tool::Error;
use haft_tool::{Call, Event, LogLine, LogListener, Outcome};

/// Limit of the updates that wait to be sent. Beyond it the oldest ones are skipped.
const UPDATE_QUEUE_CAPACITY: usize = 64;

type Ended = Result<Outcome, Error>;

/// Handle of a running call. Dropping it cancels the call.
pub(super) struct Execution {
    events: Events,
    lines: Lines,
    entry: Entry,
    inbox: Option<Inbox>,
    ended: Pin<Box<dyn Future<Output = Ended> + Send>>,
    /// The response, while earlier events are still being returned.
    over: Option<Result<CallToolResult, ErrorData>>,
    cancel: CancellationToken,
    /// The tool list at the time of the call.
    tool_list: Arc<ToolList>,
    name: String,
    form: ResultForm,
    /// Receives messages about the result itself.
    log: Option<Arc<dyn LogListener>>,
    sender: Option<Sender>,
}

/// Event of a running call.
pub(super) enum Step {
    /// A partial result.
    Update(Box<RawValue>),
    /// A line that the tool logs.
    Said(LogLine),
    /// A question to the user.
    Prompt(Open),
    /// The end of the call.
    Ended(Result<CallToolResult, ErrorData>),
}

impl Execution {
    /// Starts a call by `host`. `log` and `lines` are the two ends of the tool's log. With
    /// `can_ask` its questions are returned by [`Self::step`]; otherwise no user can be asked.
    pub(super) fn start(
        server: &Server,
        host: &Host,
        (call, sender): (Call, Option<Sender>),
        (tool_list, name): (Arc<ToolList>, String),
        (log, lines): (Option<Arc<dyn LogListener>>, Lines),
        can_ask: bool,
        form: ResultForm,
    ) -> Execution {
        let host = log::heard(host, log.clone());
        let (host, inbox) = if can_ask {
            let (questions, inbox) = elicitation::channel(log.clone());
            let user = Arc::new(questions);
            (host.asking(user.clone()).with_ui(user), Some(inbox))
        } else {
            (host, None)
        };
        let (mut running, entry) = Entry::start(&host, call, server.book(), sender.clone());
        // Kept separately, because a suspended call is not polled.
        let cancel = running.cancel_token();
        Execution {
            events: running.take_events(),
            lines,
            entry,
            inbox,
            ended: Box::pin(running.outcome()),
            over: None,
            cancel,
            tool_list,
            name,
            form,
            log,
            sender,
        }
    }

    /// Waits for the next event. Dropping this future and calling it again loses no event.
    pub(super) async fn step(&mut self) -> Step {
        loop {
            let Execution {
                events,
                lines,
                entry,
                inbox,
                ended,
                over,
                tool_list,
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
                    Event::Update(update) if events.waiting() <= UPDATE_QUEUE_CAPACITY => {
                        entry.update(&update);
                        return Step::Update(update);
                    }
                    _ => continue,
                },
                line = lines.next() => return Step::Said(line),
                Some(open) = asked, if over.is_none() => if open.is_withdrawn() { continue } else { return Step::Prompt(open) },
                // Looks once more: the tool's last events may have arrived since they were polled
                // above.
                ended = ended, if over.is_none() => {
                    entry.end(&ended);
                    *over = Some(answer(ended, tool_list.find(name), *form, log.as_deref()));
                    continue;
                }
                () = std::future::ready(()), if over.is_some() => {}
            }
            if let Some(answer) = self.over.take() {
                return Step::Ended(answer);
            }
        }
    }

    /// Returns the sender of the call.
    pub(super) fn sender(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// Requests the cancellation of the call.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// Converts the end of a call to the response for its client.
pub(super) fn answer(
    ended: Ended,
    tool: Option<&OfferedTool>,
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
