//! Handle of a running call, which may outlive the request that started it.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ClientCapabilities};
use serde_json::value::RawValue;

use super::client::{answers, can_ask, for_servers};
use super::elicitation::{self, Inbox, Open};
use super::log::{self, Lines};
use super::message::Sender;
use super::result::{self, ResultForm};
use super::tool_list::ToolList;
use crate::host::{Host, RunningCall};
use haft_tool::{Call, Event, LogLine, LogListener, McpClient};

/// Limit of the updates that wait to be sent. Beyond it the oldest ones are skipped.
const UPDATE_QUEUE_CAPACITY: usize = 64;

/// Handle of a running call. Dropping it cancels the call.
pub(super) struct Execution {
    call: RunningCall,
    lines: Lines,
    inbox: Option<Inbox>,
    /// The response, while log lines before it are still being returned.
    over: Option<Result<CallToolResult, ErrorData>>,
    /// The tool list at the time of the call.
    tool_list: Arc<ToolList>,
    name: String,
    form: ResultForm,
    /// Receives messages about the result itself.
    log: Option<Arc<dyn LogListener>>,
    /// Contains the sender's permits for the call.
    sender: Option<Sender>,
    /// The client, as MCP servers behind haft know it.
    client: Arc<McpClient>,
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
    /// these `abilities` of the client its questions are returned by [`Self::step`].
    pub(super) fn start(
        host: &Host,
        (call, sender): (Call, Option<Sender>),
        (tool_list, name): (Arc<ToolList>, String),
        (log, lines): (Option<Arc<dyn LogListener>>, Lines),
        abilities: ClientCapabilities,
        form: ResultForm,
    ) -> Execution {
        let client = Arc::new(McpClient::new(for_servers(&abilities, form.any_json)));
        let host = log::heard(host, log.clone()).for_mcp_client(client.clone());
        let (host, inbox) = if answers(&abilities) {
            let can_ask = can_ask(&abilities);
            let (questions, inbox) = elicitation::channel(abilities, log.clone());
            let user = Arc::new(questions);
            let host = if can_ask {
                host.asking(user.clone())
            } else {
                host
            };
            (host.with_ui(user), Some(inbox))
        } else {
            (host, None)
        };
        Execution {
            call: host.call(call, None),
            lines,
            inbox,
            over: None,
            tool_list,
            name,
            form,
            log,
            sender,
            client,
        }
    }

    /// Returns the client, as MCP servers behind haft know it.
    pub(super) fn client(&self) -> &Arc<McpClient> {
        &self.client
    }

    /// Makes its response that of a task.
    pub(super) fn be_task(&mut self) {
        self.form.is_task = true;
    }

    /// Waits for the next event. Dropping this future and calling it again loses no event.
    pub(super) async fn step(&mut self) -> Step {
        loop {
            let is_over = self.over.is_some();
            let asked = async {
                match &mut self.inbox {
                    Some(inbox) => inbox.recv().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                event = self.call.next_event(), if !is_over => match event {
                    Event::Started => {}
                    Event::Update(update) => if self.call.waiting() <= UPDATE_QUEUE_CAPACITY {
                        return Step::Update(update);
                    },
                    Event::Finished(ended) => {
                        let tool = self.tool_list.find(&self.name);
                        self.over = Some(result::answer(ended, tool, self.form, self.log.as_deref()));
                    }
                },
                line = self.lines.next() => return Step::Said(line),
                Some(open) = asked, if !is_over => if !open.is_withdrawn() {
                    return Step::Prompt(open);
                },
                () = std::future::ready(()), if is_over => if let Some(answer) = self.over.take() {
                    return Step::Ended(answer);
                },
            }
        }
    }

    /// Returns the sender of the call.
    pub(super) fn sender(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// Requests the cancellation of the call.
    pub(super) fn cancel(&self) {
        self.call.cancellation().cancel();
    }
}
