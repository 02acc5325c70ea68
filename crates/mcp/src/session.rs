//! One session with a server: the calls that run in it, and what the server sends meanwhile.
//!
//! Progress and log lines are taken out of the stream of messages as they arrive, so that they keep
//! their order and cost no task. A question of the server belongs to a call. Servers of MCP up to
//! 2025-11-25 do not say to which, so it is only asked if all running calls have the same user.

#![expect(
    deprecated,
    reason = "log messages, sampling and roots are deprecated, but servers use them"
)]

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientNotification, ClientRequest,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorCode, ExtensionCapabilities,
    FormElicitationCapability, Implementation, JsonRpcError, JsonRpcMessage, ListRootsResult,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, RequestId, RootsCapabilities, SamplingCapability, ServerNotification,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{
    NotificationContext, RequestContext, RxJsonRpcMessage, ServiceError, TxJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast};

use crate::elicitation;
use crate::waiting::{Answer, CallLink, WaitingCalls};
use haft_tool::{CallCtx, LogLevel, LogLine, User};

/// The newest version of the protocol with `initialize`.
pub(crate) const LEGACY: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// Key of a whole update in the metadata of a progress notification, as haft's own server sends it.
const UPDATE: &str = "haft/update";

/// Number of ended calls that the table may contain before they are removed.
const MAX_ENDED: usize = 64;

/// State of one session.
pub(crate) struct Session {
    server: String,
    /// The calls of a program, which bypass rmcp.
    pub(crate) waiting: WaitingCalls,
    /// The other calls.
    calls: Mutex<Calls>,
    unanswered: Mutex<Unanswered>,
    /// Notified when a list of the server has changed.
    pub(crate) list_changed: Notify,
    /// Receives the addresses of resources that have changed.
    updates: ResourceUpdates,
}

/// Sender of the addresses of resources that have changed.
pub(crate) type ResourceUpdates = broadcast::Sender<Arc<str>>;

/// The requests to the server that have no answer yet.
#[derive(Default)]
struct Unanswered {
    ids: HashSet<String>,
    /// True while the server may be one that does not know how to answer, so that an error without an
    /// id is the answer.
    is_probing: bool,
}

#[derive(Default)]
struct Calls {
    by_id: HashMap<RequestId, (Weak<CallLink>, Option<ProgressToken>)>,
    by_token: HashMap<ProgressToken, Weak<CallLink>>,
}

impl Session {
    pub(crate) fn new(server: &str, updates: ResourceUpdates) -> Session {
        Session {
            server: server.to_owned(),
            waiting: WaitingCalls::default(),
            calls: Mutex::default(),
            unanswered: Mutex::default(),
            list_changed: Notify::new(),
            updates,
        }
    }

    /// Notes a request that is about to be sent.
    fn sends(&self, message: &TxJsonRpcMessage<RoleClient>) {
        let request = match message {
            JsonRpcMessage::Request(request) => request,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.lock().ids.remove(&id.to_string());
                }
                return;
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return,
        };
        {
            let mut unanswered = self.unanswered.lock();
            unanswered.is_probing = matches!(request.request, ClientRequest::DiscoverRequest(_));
            unanswered.ids.insert(request.id.to_string());
        }
        let ClientRequest::CallToolRequest(call) = &request.request else {
            return;
        };
        let Some(link) = call.extensions.get::<Arc<CallLink>>() else {
            return;
        };
        let link = Arc::downgrade(link);
        let meta = call.extensions.get::<rmcp::model::RequestMetaObject>();
        let token = meta.and_then(|meta| meta.get_progress_token());
        let mut calls = self.calls.lock();
        if calls.by_id.len() > MAX_ENDED {
            calls.by_id.retain(|_, (link, _)| link.strong_count() > 0);
            calls.by_token.retain(|_, link| link.strong_count() > 0);
        }
        if let Some(token) = token.clone() {
            calls.by_token.insert(token, link.clone());
        }
        calls.by_id.insert(request.id.clone(), (link, token));
    }

    /// Handles a message of the server; returns it if it is for others.
    fn receives(
        &self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = match message {
            JsonRpcMessage::Response(response) if self.waiting.has(&response.id) => {
                let answer = Answer::Result(Box::new(response.result));
                self.waiting.end(&response.id, answer);
                return None;
            }
            JsonRpcMessage::Error(JsonRpcError {
                id: Some(id),
                error,
                ..
            }) if self.waiting.has(&id) => {
                let answer = Answer::Failed(ServiceError::McpError(error));
                self.waiting.end(&id, answer);
                return None;
            }
            other => other,
        };
        match &message {
            JsonRpcMessage::Response(response) => {
                if !self.is_answer(Some(&response.id)) {
                    return None;
                }
                self.ended(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if !self.is_answer(error.id.as_ref()) {
                    return None;
                }
                if let Some(id) = &error.id {
                    self.ended(id);
                }
            }
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.progress(&progress.params);
                    return None;
                }
                ServerNotification::LoggingMessageNotification(line) => {
                    self.logs(&line.params);
                    return None;
                }
                ServerNotification::ToolListChangedNotification(_)
                | ServerNotification::ResourceListChangedNotification(_)
                | ServerNotification::PromptListChangedNotification(_) => {
                    self.list_changed.notify_one();
                }
                ServerNotification::ResourceUpdatedNotification(updated) => {
                    // An error means that no resource is watched.
                    let _ = self.updates.send(Arc::from(&*updated.params.uri));
                    return None;
                }
                _ => {}
            },
            JsonRpcMessage::Request(_) => {}
        }
        Some(message)
    }

    /// Returns true if a message answers a request. Others would end the start of the server.
    fn is_answer(&self, id: Option<&RequestId>) -> bool {
        let mut unanswered = self.unanswered.lock();
        let is_answer = match id {
            Some(id) => unanswered.ids.remove(&id.to_string()),
            None => std::mem::take(&mut unanswered.is_probing),
        };
        if !is_answer {
            tracing::debug!(
                server = self.server,
                ?id,
                "an answer of an MCP server fits no request"
            );
        }
        is_answer
    }

    fn ended(&self, id: &RequestId) {
        let mut calls = self.calls.lock();
        if let Some((_, Some(token))) = calls.by_id.remove(id) {
            calls.by_token.remove(&token);
        }
    }

    fn progress(&self, progress: &ProgressNotificationParam) {
        let token = &progress.progress_token;
        // The token of a call that bypasses rmcp is its id.
        let link = self.waiting.link(&token.0).or_else(|| {
            let calls = self.calls.lock();
            calls.by_token.get(token)?.upgrade()
        });
        if let Some(link) = link {
            link.update(&update(progress));
        }
    }

    fn logs(&self, line: &LoggingMessageNotificationParam) {
        let level = level(line.level);
        let message = match &line.data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        tracing::debug!(server = self.server, level = ?line.level, message, "an MCP server logs");
        let context = line.logger.as_ref().map(|logger| json!({"logger": logger}));
        let context = context.and_then(|context| serde_json::value::to_raw_value(&context).ok());
        // All calls with the same listener get it once.
        let Some(link) = self.only_link() else {
            return;
        };
        if let Some(log) = &link.log {
            log.hear(LogLine {
                level,
                tool: link.tool.clone(),
                message,
                context,
            });
        }
    }

    /// Returns a running call, if all running calls have the same user and the same listener.
    fn only_link(&self) -> Option<Arc<CallLink>> {
        let calls = self.calls.lock();
        let links = calls.by_id.values().filter_map(|(link, _)| link.upgrade());
        let mut links = self.waiting.links().into_iter().chain(links);
        let first = links.next()?;
        links
            .all(|link| link.has_same_caller(&first))
            .then_some(first)
    }

    /// Asks the user of the running call.
    pub(crate) async fn elicit(&self, request: &ElicitRequestParams) -> ElicitResult {
        match self.only_link() {
            Some(link) if !link.may_ask() => ElicitResult::new(ElicitationAction::Cancel),
            Some(link) => elicitation::ask(&self.server, None, request, link.user.as_ref()).await,
            None => {
                tracing::warn!(
                    server = self.server,
                    "a question of an MCP server belongs to no call of one user"
                );
                ElicitResult::new(ElicitationAction::Cancel)
            }
        }
    }
}

impl Session {
    /// Forwards a request of the server to the caller of the running call.
    async fn forward<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, ErrorData> {
        let refused = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None);
        let link = self.only_link().ok_or_else(refused)?;
        let answer = link
            .forward(method, None, params)
            .await
            .ok_or_else(refused)?;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::new(ErrorCode::INTERNAL_ERROR, error.to_string(), None))
    }
}

/// Returns an update in the form that surfaces read.
fn update(progress: &ProgressNotificationParam) -> Value {
    if let Some(whole) = progress.meta.as_ref().and_then(|meta| meta.get(UPDATE)) {
        return whole.clone();
    }
    let content = match &progress.message {
        Some(message) => json!([{"type": "text", "text": message}]),
        None => json!([]),
    };
    let mut details = json!({"progress": progress.progress});
    if let Some(total) = progress.total {
        details["total"] = json!(total);
    }
    json!({"content": content, "details": details})
}

fn level(level: LoggingLevel) -> LogLevel {
    match level {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info | LoggingLevel::Notice => LogLevel::Info,
        LoggingLevel::Warning => LogLevel::Warn,
        _ => LogLevel::Error,
    }
}

/// Returns what haft answers during the call. A server of MCP 2026-07 is told with each request.
pub(crate) fn capabilities_for(ctx: &CallCtx) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    match &ctx.mcp_client {
        Some(client) => {
            let given = serde_json::from_value(client.capabilities.clone());
            let given: ClientCapabilities = given.unwrap_or_default();
            capabilities.extensions = given.supports_tasks().then(tasks);
            capabilities.elicitation = given.elicitation;
            capabilities.sampling = given.sampling;
            capabilities.roots = given.roots;
        }
        // haft follows a task to its end.
        None => capabilities.extensions = Some(tasks()),
    }
    let has_user = ctx.user.as_ref().is_some_and(User::is_there);
    if capabilities.elicitation.is_none() && has_user {
        capabilities.elicitation = Some(forms_and_pages());
    }
    capabilities
}

fn forms_and_pages() -> ElicitationCapability {
    ElicitationCapability::new()
        .with_form(FormElicitationCapability::default())
        .with_url(UrlElicitationCapability::default())
}

fn tasks() -> ExtensionCapabilities {
    ExtensionCapabilities::from([(TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new())])
}

/// Returns the program that servers are told.
pub(crate) fn implementation() -> Implementation {
    Implementation::new("haft", env!("CARGO_PKG_VERSION"))
}

/// haft as a client of one session.
pub(crate) struct Handler {
    session: Arc<Session>,
}

impl Handler {
    pub(crate) fn new(session: Arc<Session>) -> Handler {
        Handler { session }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(forms_and_pages());
        // A caller that does not answer these refuses them.
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.extensions = Some(tasks());
        let mut config = ClientConfig::new(capabilities, implementation());
        // The newer version has no `initialize`. A server that repeats the version of its client would
        // get the messages of one, and may not know them.
        config.protocol_version = LEGACY;
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            result = self.session.elicit(&request) => Ok(result),
        }
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(params).unwrap_or_default();
        let asking = self.session.forward("sampling/createMessage", params);
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(cancelled()),
            result = asking => result,
        }
    }

    async fn list_roots(
        &self,
        context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(cancelled()),
            result = self.session.forward("roots/list", Value::Null) => result,
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {}
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}

/// Transport whose messages a session sees first.
pub(crate) struct Watched<T> {
    inner: T,
    session: Arc<Session>,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, session: Arc<Session>) -> Watched<T> {
        Watched { inner, session }
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.session.sends(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            if let Some(message) = self.session.receives(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
