//! rmcp transport over standard input and output that tolerates any input.
//!
//! Invalid input is answered and skipped, and messages before the handshake do not end the
//! conversation. At the end every request gets a response: its outcome if it ends in time, or the
//! result of a stopped call, or an error.
#![allow(deprecated, reason = "see `log`")]

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    JsonRpcResponse, JsonRpcVersion2_0, LoggingMessageNotification,
    LoggingMessageNotificationParam, ProtocolVersion, RequestId, ServerNotification, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustc_hash::FxHashMap;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::fast_path::{Answered, Direct};
use crate::surface::mcp::log::LogForwarder;
use crate::surface::mcp::message::{self, Said, WrittenCall};
use crate::surface::mcp::server::Server;
use crate::surface::stdio::input::{Input, Line, MAX_LINE_BYTES};
use crate::surface::stdio::writer::Writer;
use haft_tool::CallerScope;
use haft_tool::Cancellation;

/// Time for requests to finish after the end of the input.
const FINISHING: Duration = Duration::from_millis(900);
/// Time for requests to be answered after they were stopped.
pub(super) const STOPPING: Duration = Duration::from_millis(400);

/// Limit of [`Lines::unseen_tasks`], which is cleared beyond it. Fewer tasks can run at a time, so
/// the client must have learnt of the others in another way.
const MAX_UNSEEN_TASKS: usize = 1024;

const SHUTTING_DOWN: &str = "the host is shutting down, and the request did not end in time";

/// Limit of the lines that are read while a handshake waits. Clients send none before its response.
const MAX_HELD_LINES: usize = 256;

/// Transport of one client.
pub(super) struct Lines {
    lines: Input,
    /// Messages of a line that are not handled yet.
    waiting: VecDeque<ClientJsonRpcMessage>,
    answers: Answers,
    direct: Direct,
    server: Server,
    /// The requests without a response.
    open: FxHashMap<RequestId, Taken>,
    /// Requests that were answered with a task, until the client names the task. The client may
    /// cancel the request before it reads that response, and does not know of the task then.
    unseen_tasks: FxHashMap<RequestId, String>,
    /// True if the client has sent a request that determines the protocol version.
    has_begun: bool,
    /// Set when no more input is read: the end of the time for open requests.
    ends: Option<Instant>,
    phases: Phases,
    /// True when every request has its response. Later responses are dropped.
    is_over: bool,
    /// Resolves when the tools are known that instructions name. Handshakes wait for it here. rmcp
    /// reads nothing while it answers one, so it would not see the end of the input.
    loading: BoxFuture<'static, ()>,
    has_loaded: bool,
    /// Lines that were read while a handshake waited.
    held: VecDeque<Line>,
}

/// Phases of the end of the conversation.
#[derive(Clone, Default)]
pub(super) struct Phases {
    /// Fires when no more input is read.
    pub(super) closing: CancellationToken,
    /// Fires when the time for calls to finish is over.
    pub(super) stopping: CancellationToken,
}

/// The component that answers a request.
enum Taken {
    Rmcp,
    /// The fast path answers it. Contains the cancellation handle.
    Direct(Cancellation),
}

impl Lines {
    /// Creates a transport that reads until `phases` or the input end, and advances the phases.
    /// `server` answers plain calls.
    pub(super) fn new(lines: Input, writer: Writer, server: Server, phases: Phases) -> Self {
        let answers = Answers::start(writer);
        let log = {
            let (log, server) = (server.log().clone(), server.clone());
            let answers = answers.clone();
            LogForwarder::new(log, move |line| {
                // A client that reads too slowly misses lines of the log.
                if !server.is_behind() {
                    answers.tell(line);
                }
            })
        };
        let loading = {
            let server = server.clone();
            async move { server.wait_for_tools().await }.boxed()
        };
        Lines {
            lines,
            waiting: VecDeque::new(),
            direct: Direct::new(server.clone(), Arc::new(log)),
            server,
            answers,
            open: FxHashMap::default(),
            unseen_tasks: FxHashMap::default(),
            has_begun: false,
            ends: None,
            phases,
            is_over: false,
            loading,
            has_loaded: false,
            held: VecDeque::new(),
        }
    }

    /// Stops reading and starts the time for open requests.
    fn close(&mut self) {
        self.phases.closing.cancel();
        self.ends = Some(Instant::now() + FINISHING);
    }

    /// Handles the end of a phase: open requests are first stopped, then answered with errors.
    fn time_is_up(&mut self) {
        if !self.phases.stopping.is_cancelled() {
            self.phases.stopping.cancel();
            self.ends = Some(Instant::now() + STOPPING);
            return;
        }
        self.is_over = true;
        for id in std::mem::take(&mut self.open).into_keys() {
            self.refuse(Some(id), ErrorData::internal_error(SHUTTING_DOWN, None));
        }
    }

    fn take(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::NotUtf8 => {
                return self.refuse(
                    None,
                    ErrorData::parse_error("the message is not UTF-8", None),
                );
            }
            Line::TooLong { .. } => {
                let text = format!(
                    "a message is longer than {} MB: it was skipped",
                    MAX_LINE_BYTES >> 20
                );
                return self.refuse(None, ErrorData::invalid_request(text, None));
            }
        };
        for read in message::read(&text) {
            match read {
                Ok(Said::Call(id, call)) if self.direct.takes(&call) => self.start(id, call),
                Ok(Said::Call(id, call)) => {
                    self.admit(JsonRpcMessage::request(call.into_request(), id));
                }
                Ok(Said::Other(message)) => self.admit(*message),
                Err(fault) => self.refuse(fault.id, fault.error),
            }
        }
    }

    /// Starts a call on the fast path.
    fn start(&mut self, id: RequestId, call: WrittenCall) {
        let free = match self.open.entry(id) {
            Entry::Vacant(free) => free,
            Entry::Occupied(taken) => {
                let id = taken.key().clone();
                return self.refuse_twin(&id);
            }
        };
        let id = free.key().clone();
        free.insert(Taken::Direct(self.direct.start(id, call)));
    }

    /// Sends the response of a call, unless the call was cancelled.
    fn answer(&mut self, answered: Answered) {
        let Answered {
            id,
            cancellation,
            ended,
        } = answered;
        // Another request may use its id by now.
        let is_it = |taken: &Taken| matches!(taken, Taken::Direct(its) if its.is(&cancellation));
        if !self.open.get(&id).is_some_and(is_it) {
            return;
        }
        self.open.remove(&id);
        match ended {
            // Same JSON as rmcp writes. Its own message type is as large as the largest response,
            // and is moved often.
            Ok(result) => self.answers.send(&JsonRpcResponse {
                jsonrpc: JsonRpcVersion2_0,
                id,
                result,
            }),
            Err(error) => self.refuse(Some(id), error),
        }
    }

    /// Passes a message on to rmcp if it is allowed now.
    fn admit(&mut self, message: ClientJsonRpcMessage) {
        self.direct.hear(&message);
        match &message {
            JsonRpcMessage::Request(request) => {
                if !is_endless(&request.request) {
                    match self.open.entry(request.id.clone()) {
                        Entry::Occupied(_) => return self.refuse_twin(&request.id),
                        Entry::Vacant(free) => {
                            free.insert(Taken::Rmcp);
                        }
                    }
                }
                self.has_begun |= begins(&request.request);
                // A reused id refers to the new request.
                self.unseen_tasks.remove(&request.id);
                if let Some(task) = named_task(&request.request) {
                    self.unseen_tasks.retain(|_, unseen| unseen != task);
                }
            }
            // rmcp would take such a client for one that does not use MCP, and end the
            // conversation.
            _ if !self.has_begun => {
                tracing::debug!("a message before the first request is passed over");
                return;
            }
            JsonRpcMessage::Notification(notification) => {
                let notification = &notification.notification;
                if let ClientNotification::CancelledNotification(cancelled) = notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The request gets no response, and its id may be reused at once.
                    if let Some(Taken::Direct(cancellation)) = self.open.remove(id) {
                        cancellation.cancel();
                    }
                    if let Some(task) = self.unseen_tasks.remove(id) {
                        // An error means that the task was forgotten already.
                        let _ = self.server.tasks().cancel(&CallerScope::user(), &task);
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.waiting.push_back(message);
    }

    /// Sends an error for a request with the id of one that is not answered yet.
    fn refuse_twin(&self, id: &RequestId) {
        let text = format!("a request with the id {id} is still running");
        self.refuse(None, ErrorData::invalid_request(text, None));
    }

    fn refuse(&self, id: Option<RequestId>, error: ErrorData) {
        let refusal: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(error, id);
        self.answers.send(&refusal);
    }
}

impl Transport<RoleServer> for Lines {
    type Error = Infallible;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        if self.is_over {
            return ready(Ok(()));
        }
        // Sent at once, so that the order of the messages is the order of the calls to `send`.
        self.answers.send(&item);
        match &item {
            JsonRpcMessage::Response(response) => {
                self.open.remove(&response.id);
                if let ServerResult::CreateTaskResult(created) = &response.result {
                    if self.unseen_tasks.len() >= MAX_UNSEEN_TASKS {
                        self.unseen_tasks.clear();
                    }
                    let task = created.task.task_id.clone();
                    self.unseen_tasks.insert(response.id.clone(), task);
                }
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.open.remove(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        ready(Ok(()))
    }

    // Cancel-safe: this future is dropped and created again on other events, so all state is in
    // `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let waits = self.waiting.front().is_some_and(is_handshake) && !self.has_loaded;
            if !waits && let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            if !waits && let Some(line) = self.held.pop_front() {
                self.take(line);
                continue;
            }
            if let Some(end) = self.ends {
                if self.open.is_empty() {
                    return None;
                }
                // A response of rmcp drops this future, and `receive` is called again.
                tokio::select! {
                    biased;
                    answered = self.direct.next() => self.answer(answered),
                    () = &mut self.loading, if waits => self.has_loaded = true,
                    () = sleep_until(end) => self.time_is_up(),
                }
                continue;
            }
            let line = tokio::select! {
                biased;
                () = self.phases.closing.cancelled() => {
                    self.close();
                    continue;
                }
                answered = self.direct.next() => {
                    self.answer(answered);
                    continue;
                }
                () = &mut self.loading, if waits => {
                    self.has_loaded = true;
                    continue;
                }
                line = self.lines.next(), if self.held.len() < MAX_HELD_LINES => line,
            };
            match line {
                // Messages after a handshake are handled after its response.
                Some(line) if waits => self.held.push_back(line),
                Some(line) => self.take(line),
                None => self.close(),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Infallible>> + Send {
        ready(Ok(()))
    }
}

/// Returns true for requests whose responses contain instructions.
fn is_handshake(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    matches!(
        request.request,
        ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
    )
}

/// Returns the task that a request is about.
fn named_task(request: &ClientRequest) -> Option<&str> {
    match request {
        ClientRequest::GetTaskRequest(request) => Some(&request.params.task_id),
        ClientRequest::UpdateTaskRequest(request) => Some(&request.params.task_id),
        ClientRequest::CancelTaskRequest(request) => Some(&request.params.task_id),
        _ => None,
    }
}

/// Returns true for requests that are only answered when the conversation ends.
fn is_endless(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::SubscriptionsListenRequest(_))
}

/// Returns true if rmcp accepts this request as the beginning of a conversation.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            let is_known = version.is_some_and(|v| ProtocolVersion::KNOWN_VERSIONS.contains(&v));
            is_known
                && meta
                    .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                    .is_empty()
        }
    }
}

/// Buffers all messages of one turn of the event loop and writes them together, since a write costs
/// more than most responses.
#[derive(Clone)]
pub(super) struct Answers {
    writer: Writer,
    said: Arc<Notify>,
}

impl Answers {
    /// Starts the task that flushes the messages. Needs a runtime.
    pub(super) fn start(writer: Writer) -> Answers {
        let said = Arc::new(Notify::new());
        let answers = Answers {
            writer: writer.clone(),
            said: said.clone(),
        };
        // A task that is woken runs after the tasks that are ready already.
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = said.notified() => writer.flush(),
                    () = writer.closed() => return,
                }
            }
        });
        answers
    }

    pub(super) fn send(&self, message: &impl Serialize) {
        self.writer.put(message);
        self.said.notify_one();
    }

    /// Sends a line that a tool logs.
    pub(super) fn tell(&self, line: LoggingMessageNotificationParam) {
        let line = LoggingMessageNotification::new(line);
        let line = ServerNotification::LoggingMessageNotification(line);
        let line: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::notification(line);
        self.send(&line);
    }
}
