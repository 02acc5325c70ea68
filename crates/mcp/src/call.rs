//! One call of a tool: the request, the questions of the server, its task if it makes one, the end.

#![expect(deprecated, reason = "log levels are deprecated, but servers use them")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskParams, ClientRequest,
    CreateTaskResult, ErrorCode, GetTaskParams, InputRequest, InputRequests, InputResponses,
    LoggingLevel, RequestMetaObject, ServerResult, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::session::capabilities_for;
use crate::stdio::RawArguments;
use crate::{elicitation, result};
use haft_tool::{CallCtx, LogListener, Outcome, ServerError, Updates, User};
use haft_tool::{Error, ErrorKind};

/// Limit of the questions of one call, and of the answers with questions before its result.
const MAX_ROUNDS: usize = 32;

/// Limits of the interval at which a task is polled.
const POLL: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

/// Interval if the server names none.
const DEFAULT_POLL: Duration = Duration::from_millis(500);

/// A call of one tool.
pub struct CallInput<'a> {
    /// The server's name for the tool.
    pub tool: &'a str,
    /// The arguments: a JSON object.
    pub arguments: Box<RawValue>,
}

/// The caller of one call, which the server's messages reach.
pub struct CallLink {
    /// The name of the tool for log lines.
    pub tool: String,
    /// Receiver of progress.
    pub updates: Updates,
    /// The user for questions, if there is one.
    pub user: Option<User>,
    /// Receiver of log lines, if there is one.
    pub log: Option<Arc<dyn LogListener>>,
    /// Number of requests of the server so far.
    asked: AtomicUsize,
    /// Cancelled when the server has asked too often.
    too_many: CancellationToken,
}

impl CallLink {
    /// Returns the caller of a call with this context.
    pub fn of(tool: &str, ctx: &CallCtx) -> CallLink {
        CallLink {
            tool: tool.to_owned(),
            updates: ctx.updates.clone(),
            user: ctx.user.clone(),
            log: ctx.log.clone(),
            asked: AtomicUsize::new(0),
            too_many: CancellationToken::new(),
        }
    }

    /// Counts a request of the server. Returns false, and ends the call, if there were too many.
    pub(crate) fn may_ask(&self) -> bool {
        let may = self.asked.fetch_add(1, Ordering::Relaxed) < MAX_ROUNDS;
        if !may {
            self.too_many.cancel();
        }
        may
    }

    /// Forwards a request of the server to the caller; `None` if the caller does not answer it.
    pub(crate) async fn forward(
        &self,
        method: &'static str,
        key: Option<&str>,
        params: Value,
    ) -> Option<Value> {
        if !self.may_ask() {
            return None;
        }
        let user = self.user.as_ref()?;
        user.forward(method, key, params).await.ok()?
    }

    /// Returns true if both belong to the same user and listener.
    pub(crate) fn has_same_caller(&self, other: &CallLink) -> bool {
        let same_user = match (&self.user, &other.user) {
            (Some(one), Some(other)) => one.has_same_interface(other),
            (None, None) => true,
            _ => false,
        };
        let same_log = match (&self.log, &other.log) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        same_user && same_log
    }
}

/// End of a request.
enum Answered {
    Result(Box<ServerResult>),
    Failed(ServiceError),
    /// The call was cancelled, and so was the request.
    Stopped,
    /// The server asked too often, and the request was cancelled.
    AskedTooOften,
}

impl Connection {
    /// Calls a tool. A failure that the server reports is an outcome.
    ///
    /// # Errors
    /// [`ErrorKind::BadArguments`] if the server refuses the arguments.
    pub async fn call(&self, input: CallInput<'_>, ctx: &CallCtx) -> Result<Outcome, Error> {
        let started = Instant::now();
        let link = Arc::new(CallLink::of(input.tool, ctx));
        let mut params = CallToolRequestParams::new(input.tool.to_owned());
        let raw = RawArguments(Arc::from(input.arguments));
        if !self.is_program() {
            let arguments = serde_json::from_str(raw.0.get());
            params.arguments = arguments.map_err(|error| {
                Error::new(ErrorKind::BadArguments, format!("the arguments: {error}"))
            })?;
        }
        for _ in 0..MAX_ROUNDS {
            let mut request = CallToolRequest::new(params.clone());
            request.extensions.insert(link.clone());
            request.extensions.insert(raw.clone());
            let request = ClientRequest::CallToolRequest(request);
            let answered = self.request(request, &link, ctx).await;
            let result = match answered {
                Answered::Stopped => return Ok(self.stopped(ctx, started)),
                Answered::AskedTooOften => break,
                Answered::Failed(error) => return self.failed(&error, started),
                Answered::Result(result) => *result,
            };
            match result {
                ServerResult::CallToolResult(result) => {
                    return Ok(result::outcome(result, started.elapsed()));
                }
                ServerResult::InputRequiredResult(required) => {
                    let requests = required.input_requests.unwrap_or_default();
                    let Some(responses) = self.answers(&requests, &link, ctx).await else {
                        return Ok(self.stopped(ctx, started));
                    };
                    params.input_responses = (!requests.is_empty()).then_some(responses);
                    params.request_state = required.request_state;
                }
                ServerResult::CreateTaskResult(task) => {
                    if let Some(client) = &ctx.mcp_client {
                        client.note_task();
                    }
                    return self.follow(task, &link, ctx, started).await;
                }
                other => return Ok(self.odd(&other, started)),
            }
        }
        let text = format!("`{}` asked more than {MAX_ROUNDS} times", self.server());
        Ok(Outcome::failure(text, started.elapsed()))
    }

    /// Returns the metadata of a request: the span of the call, and what a server of MCP 2026-07 is
    /// told with each request.
    fn meta(&self, ctx: &CallCtx) -> RequestMetaObject {
        let mut meta = RequestMetaObject::default();
        if let Some(span) = &ctx.span {
            meta.insert("traceparent".to_owned(), span.to_string().into());
            if let Some(state) = &span.state {
                meta.insert("tracestate".to_owned(), (**state).into());
            }
        }
        if self.is_stateless() {
            // Without this it logs nothing.
            meta.set_log_level(LoggingLevel::Debug);
            meta.set_client_capabilities(capabilities_for(ctx));
        }
        meta
    }

    async fn request(&self, request: ClientRequest, link: &CallLink, ctx: &CallCtx) -> Answered {
        let options = PeerRequestOptions::no_options().with_meta(self.meta(ctx));
        let handle = self.peer().send_cancellable_request(request, options).await;
        let mut handle = match handle {
            Ok(handle) => handle,
            Err(error) => return Answered::Failed(error),
        };
        tokio::select! {
            biased;
            answer = &mut handle.rx => match answer {
                Ok(Ok(result)) => Answered::Result(Box::new(result)),
                Ok(Err(error)) => Answered::Failed(error),
                Err(_) => Answered::Failed(ServiceError::TransportClosed),
            },
            () = ctx.cancelled() => {
                let why = ctx.stop_reason().reason().to_owned();
                // An error means that the connection has ended, too.
                let _ = handle.cancel(Some(why)).await;
                Answered::Stopped
            }
            () = link.too_many.cancelled() => {
                let _ = handle.cancel(Some("it asks too often".to_owned())).await;
                Answered::AskedTooOften
            }
        }
    }

    /// Answers the requests of the server, all at the same time; `None` if the call was cancelled
    /// meanwhile.
    async fn answers(
        &self,
        requests: &InputRequests,
        link: &CallLink,
        ctx: &CallCtx,
    ) -> Option<InputResponses> {
        let answers = requests.iter().map(async |(key, request)| {
            let answer = self.answer(key, request, link).await?;
            Some((key.clone(), answer))
        });
        let answers = tokio::select! {
            biased;
            () = ctx.cancelled() => return None,
            answers = join_all(answers) => answers,
        };
        (!ctx.is_cancelled()).then(|| answers.into_iter().flatten().collect())
    }

    /// Answers a request of the server. `None` if it asks too often.
    async fn answer(&self, key: &str, request: &InputRequest, link: &CallLink) -> Option<Value> {
        Some(match request {
            InputRequest::Elicitation(request) => {
                if !link.may_ask() {
                    return None;
                }
                let (params, user) = (&request.params, link.user.as_ref());
                let result = elicitation::ask(self.server(), Some(key), params, user).await;
                serde_json::to_value(result).unwrap_or_default()
            }
            InputRequest::ListRoots(_) => {
                let roots = link.forward("roots/list", Some(key), Value::Null).await;
                roots.unwrap_or_else(|| json!({"roots": []}))
            }
            InputRequest::CreateMessage(request) => {
                let params = serde_json::to_value(&request.params).unwrap_or_default();
                let message = link
                    .forward("sampling/createMessage", Some(key), params)
                    .await;
                message.unwrap_or_else(|| json!({}))
            }
            _ => json!({}),
        })
    }

    /// Waits for the end of a task.
    async fn follow(
        &self,
        created: CreateTaskResult,
        link: &CallLink,
        ctx: &CallCtx,
        started: Instant,
    ) -> Result<Outcome, Error> {
        let id = created.task.task_id;
        let mut interval = created.task.poll_interval_ms;
        let mut message = None;
        let mut answered: Vec<String> = Vec::new();
        loop {
            let wait = interval.map_or(DEFAULT_POLL, Duration::from_millis);
            tokio::select! {
                biased;
                () = ctx.cancelled() => return Ok(self.cancel_task(&id, ctx, started).await),
                () = self.ended() => return self.failed(&ServiceError::TransportClosed, started),
                () = sleep(wait.clamp(POLL.0, POLL.1)) => {}
            }
            let task = tokio::select! {
                biased;
                () = ctx.cancelled() => return Ok(self.cancel_task(&id, ctx, started).await),
                task = self.peer().get_task(GetTaskParams::new(id.clone())) => task,
            };
            let task = match task {
                Ok(task) => task.task,
                Err(error) => return self.failed(&error, started),
            };
            interval = task.task.poll_interval_ms.or(interval);
            if task.task.status_message != message {
                message = task.task.status_message;
                if let Some(message) = &message {
                    let content = json!([{"type": "text", "text": message}]);
                    link.update(&json!({"content": content, "details": {}}));
                }
            }
            match task.payload {
                TaskPayload::Completed { result } => {
                    let result = serde_json::from_value::<CallToolResult>(Value::Object(result));
                    return Ok(match result {
                        Ok(result) => result::outcome(result, started.elapsed()),
                        Err(error) => {
                            let server = self.server();
                            let text = format!("`{server}` answered with no result: {error}");
                            Outcome::failure(text, started.elapsed())
                        }
                    });
                }
                TaskPayload::Failed { error } => {
                    let error = serde_json::from_value::<ErrorData>(Value::Object(error));
                    let text = || "the task failed without a reason".to_owned();
                    let error = error.unwrap_or_else(|_| ErrorData::internal_error(text(), None));
                    return Ok(refused(error, started));
                }
                TaskPayload::Cancelled => {
                    return Ok(Outcome::failure(
                        "the server cancelled the task",
                        started.elapsed(),
                    ));
                }
                TaskPayload::InputRequired { mut input_requests } => {
                    input_requests.retain(|key, _| !answered.contains(key));
                    if input_requests.is_empty() {
                        continue;
                    }
                    if answered.len() > MAX_ROUNDS {
                        let server = self.server();
                        let text = format!("`{server}` asked more than {MAX_ROUNDS} times");
                        self.cancel_task(&id, ctx, started).await;
                        return Ok(Outcome::failure(text, started.elapsed()));
                    }
                    answered.extend(input_requests.keys().cloned());
                    let Some(responses) = self.answers(&input_requests, link, ctx).await else {
                        return Ok(self.cancel_task(&id, ctx, started).await);
                    };
                    let update = UpdateTaskParams::new(id.clone(), responses);
                    if let Err(error) = self.peer().update_task(update).await {
                        return self.failed(&error, started);
                    }
                }
                _ => {}
            }
        }
    }

    async fn cancel_task(&self, id: &str, ctx: &CallCtx, started: Instant) -> Outcome {
        let cancel = self
            .peer()
            .cancel_task(CancelTaskParams::new(id.to_owned()));
        // The server may have died, and the call ends in any case.
        let _ = tokio::time::timeout(POLL.1, cancel).await;
        self.stopped(ctx, started)
    }

    /// Returns the end of a call whose request failed.
    fn failed(&self, error: &ServiceError, started: Instant) -> Result<Outcome, Error> {
        if let ServiceError::McpError(error) = error
            && error.code == ErrorCode::INVALID_PARAMS
        {
            return Err(Error::new(
                ErrorKind::BadArguments,
                error.message.to_string(),
            ));
        }
        let text = match error {
            ServiceError::McpError(error) => return Ok(refused(error.clone(), started)),
            ServiceError::TransportClosed => {
                format!(
                    "the MCP server `{}` ended: {}",
                    self.server(),
                    self.failure()
                )
            }
            other => format!("the MCP server `{}`: {}", self.server(), self.fault(other)),
        };
        Ok(Outcome::failure(text, started.elapsed()))
    }

    /// Returns the outcome of an answer that is not a result of a call.
    fn odd(&self, result: &ServerResult, started: Instant) -> Outcome {
        let value = serde_json::to_value(result).unwrap_or_default();
        let text = format!(
            "the MCP server `{}` answered with no result of a call: {}",
            self.server(),
            crate::text::one_line(&value.to_string(), 300)
        );
        Outcome::failure(text, started.elapsed())
    }

    fn stopped(&self, ctx: &CallCtx, started: Instant) -> Outcome {
        let why = ctx.stop_reason();
        let server = self.server();
        let text = format!(
            "The call of the MCP server `{server}` was stopped: {}.",
            why.reason()
        );
        Outcome::stopped(why, text, started.elapsed())
    }
}

/// Returns the outcome of a call that the server has answered with an error.
fn refused(error: ErrorData, started: Instant) -> Outcome {
    let ErrorData {
        code,
        message,
        data,
        ..
    } = error;
    let message = message.into_owned();
    let mut outcome = Outcome::failure(&message, started.elapsed());
    outcome.server_error = Some(Box::new(ServerError {
        code: code.0.into(),
        message,
        data,
    }));
    outcome
}
