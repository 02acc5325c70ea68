//! rmcp's transport over our lines: it survives whatever a client may send.
//!
//! Garbage is answered and skipped, nothing that comes too early ends the conversation, and at its end
//! every request is answered: by what it comes to in a while, or as stopped, or with an error.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    JsonRpcResponse, JsonRpcVersion2_0, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustc_hash::FxHashMap;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::answers::Answers;
use super::direct::{Answered, Direct};
use crate::host::Stopper;
use crate::surface::lines::input::{Input, LONGEST, Line};
use crate::surface::lines::writer::Writer;
use crate::surface::mcp::message::{self, Said};
use crate::surface::mcp::request::WrittenCall;
use crate::surface::mcp::server::Server;

/// What was asked before the end may come to its own end in this time.
const FINISHING: Duration = Duration::from_millis(900);
/// What was asked to stop then may be answered in this time.
pub(super) const STOPPING: Duration = Duration::from_millis(400);

/// More than run at a time: a client that names none of its tasks hears of them in another way.
const MAX_UNSEEN_TASKS: usize = 1024;

const SHUTTING_DOWN: &str = "the host is shutting down, and the request did not end in time";

/// No more lines are read while a handshake waits; clients send none before its answer.
const MAX_HELD_LINES: usize = 256;

/// One client's messages.
pub(super) struct Lines {
    lines: Input,
    /// Messages that came on one line.
    waiting: VecDeque<ClientJsonRpcMessage>,
    answers: Answers,
    direct: Direct,
    server: Server,
    /// The requests that wait for their answer.
    open: FxHashMap<RequestId, Taken>,
    /// Requests that were answered with a task, until the client names the task. It may cancel the
    /// request before it reads that answer, and then knows nothing of the task.
    unseen_tasks: FxHashMap<RequestId, String>,
    /// The client has said which era it speaks.
    has_begun: bool,
    /// Nothing more is read; what is open is waited for so long.
    ends: Option<Instant>,
    phases: Phases,
    /// Everything has its answer; what comes now is too late.
    is_over: bool,
    /// Ends when the tools are known that instructions name. Handshakes wait for it here, since rmcp reads
    /// nothing while it answers one, and would not see the end of the input.
    loading: BoxFuture<'static, ()>,
    has_loaded: bool,
    /// What was read while a handshake waited.
    held: VecDeque<Line>,
}

/// How the conversation ends.
#[derive(Clone, Default)]
pub(super) struct Phases {
    /// Fires when nothing more is read.
    pub(super) closing: CancellationToken,
    /// Fires when the calls that still run have had their time.
    pub(super) stopping: CancellationToken,
}

/// Who answers a request.
enum Taken {
    Rmcp,
    /// Ourselves, as it is a plain call; this ends it.
    Direct(Stopper),
}

impl Lines {
    /// Reads until `phases` or the input end, and moves the phases on. `server` answers plain calls.
    pub(super) fn new(lines: Input, writer: Writer, server: Server, phases: Phases) -> Self {
        let answers = Answers::start(writer);
        let loading = {
            let server = server.clone();
            async move { server.wait_for_tools().await }.boxed()
        };
        Lines {
            lines,
            waiting: VecDeque::new(),
            direct: Direct::new(server.clone(), answers.clone()),
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

    /// Nothing more is read.
    fn close(&mut self) {
        self.phases.closing.cancel();
        self.ends = Some(Instant::now() + FINISHING);
    }

    /// What is still open has had its time: first to end by itself, then to be stopped.
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
            Line::TooLong => {
                let text = format!(
                    "a message is longer than {} MB: it was skipped",
                    LONGEST >> 20
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

    /// Starts a call that is answered without rmcp.
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

    /// Answers it, unless it was taken back.
    fn answer(&mut self, answered: Answered) {
        let Answered { id, stopper, ended } = answered;
        // Another request may have its id by now.
        let is_it = |taken: &Taken| matches!(taken, Taken::Direct(its) if its.is(&stopper));
        if !self.open.get(&id).is_some_and(is_it) {
            return;
        }
        self.open.remove(&id);
        match ended {
            // As rmcp would write it; its own message has room for any answer, and is moved a lot.
            Ok(result) => self.answers.send(&JsonRpcResponse {
                jsonrpc: JsonRpcVersion2_0,
                id,
                result,
            }),
            Err(error) => self.refuse(Some(id), error),
        }
    }

    /// Passes on what may come now.
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
                // An id that is used again means the new request.
                self.unseen_tasks.remove(&request.id);
                if let Some(task) = named_task(&request.request) {
                    self.unseen_tasks.retain(|_, unseen| unseen != task);
                }
            }
            // rmcp takes them for a client that is no MCP client, and ends.
            _ if !self.has_begun => {
                tracing::debug!("a message before the first request is passed over");
                return;
            }
            JsonRpcMessage::Notification(notification) => {
                let notification = &notification.notification;
                if let ClientNotification::CancelledNotification(cancelled) = notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It is not answered any more, and its id may be used again at once.
                    if let Some(Taken::Direct(stopper)) = self.open.remove(id) {
                        stopper.cancel();
                    }
                    if let Some(task) = self.unseen_tasks.remove(id) {
                        // It may be forgotten by now, which is as good.
                        let _ = self.server.tasks().cancel(None, &task);
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.waiting.push_back(message);
    }

    /// Refuses a request with the id of one that is not answered yet.
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
        // At once, so that the order of the calls is the order of the lines.
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

    // Dropped and called again whenever something else happens: what it knows is in `self`.
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
                // What rmcp answers meanwhile brings us back here.
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
                // What comes after a handshake is answered after it.
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

/// Requests whose answers carry instructions.
fn is_handshake(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    matches!(
        request.request,
        ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
    )
}

/// The task that a request is about.
fn named_task(request: &ClientRequest) -> Option<&str> {
    match request {
        ClientRequest::GetTaskRequest(request) => Some(&request.params.task_id),
        ClientRequest::UpdateTaskRequest(request) => Some(&request.params.task_id),
        ClientRequest::CancelTaskRequest(request) => Some(&request.params.task_id),
        _ => None,
    }
}

/// Requests that are answered when the conversation ends.
fn is_endless(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::SubscriptionsListenRequest(_))
}

/// Whether rmcp takes this request for the beginning of a conversation.
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
