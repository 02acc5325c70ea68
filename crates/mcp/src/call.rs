//! One call of a tool: the request, the questions of the server, its task if it makes one, the end.

#![expect(deprecated, reason = "log levels are deprecated, but servers use them")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskParams,
    CancelledNotificationParam, ClientRequest, CreateTaskResult, ErrorCode, GetTaskParams,
    InputRequest, InputRequests, InputResponses, LoggingLevel, ProgressToken, RequestId,
    RequestMetaObject, ServerResult, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::connection::Connection;
use crate::outgoing::Outgoing;
use crate::session::{capabilities_for, implementation};
use crate::stdio::unsent;
use crate::waiting::{Answer, CallLink, MAX_ROUNDS};
use crate::{elicitation, result};
use haft_tool::{CallCtx, Outcome, ServerError};
use haft_tool::{Error, ErrorKind};

/// Reason of the cancellation of such a call, for its server.
const ASKS_TOO_OFTEN: &str = "it asks too often";

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

/// End of a request.
enum Answered {
    With(Answer),
    /// The call was cancelled, and so was the request.
    Stopped,
    /// The server asked too often, and the request was cancelled.
    AskedTooOften,
}

impl Answered {
    fn failed(error: ServiceError) -> Answered {
        Answered::With(Answer::Failed(error))
    }
}

/// A request or a notification as a program gets it.
#[derive(Serialize)]
struct WrittenRequest<T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'static str,
    params: T,
}

/// The parameters of a call. The arguments are as their caller wrote them: numbers keep all of their
/// digits.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenCall<'a> {
    name: &'a str,
    arguments: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_responses: Option<&'a InputResponses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<WrittenMeta<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenMeta<'a> {
    /// The text of the metadata that most calls of a connection have.
    Plain(&'a RawValue),
    Own(RequestMetaObject),
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
        if self.outgoing().is_none() {
            let arguments = serde_json::from_str(input.arguments.get());
            params.arguments = arguments.map_err(|error| {
                Error::new(ErrorKind::BadArguments, format!("the arguments: {error}"))
            })?;
        }
        for _ in 0..MAX_ROUNDS {
            let answered = match self.outgoing() {
                Some(outgoing) => {
                    let call = (&params, &*input.arguments);
                    self.request_past_rmcp(outgoing, call, &link, ctx).await
                }
                // Boxed like all that most calls do not need, because futures are moved.
                None => Box::pin(self.request(&params, &link, ctx)).await,
            };
            let result = match answered {
                Answered::Stopped => return Ok(self.stopped(ctx, started)),
                Answered::AskedTooOften => break,
                Answered::With(Answer::Failed(error)) => return self.failed(&error, started),
                Answered::With(Answer::Plain(result)) => {
                    return Ok(result::plain_outcome(result, started.elapsed()));
                }
                Answered::With(Answer::Result(result)) => *result,
            };
            match result {
                ServerResult::CallToolResult(result) => {
                    return Ok(result::outcome(result, started.elapsed()));
                }
                ServerResult::InputRequiredResult(required) => {
                    let requests = required.input_requests.unwrap_or_default();
                    let answers = Box::pin(self.answers(&requests, &link, ctx)).await;
                    let Some(responses) = answers else {
                        return Ok(self.stopped(ctx, started));
                    };
                    params.input_responses = (!requests.is_empty()).then_some(responses);
                    params.request_state = required.request_state;
                }
                ServerResult::CreateTaskResult(task) => {
                    if let Some(client) = &ctx.mcp_client {
                        client.note_task();
                    }
                    return Box::pin(self.follow(task, &link, ctx, started)).await;
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
        if self.stateless().is_some() {
            // Without this it logs nothing.
            meta.set_log_level(LoggingLevel::Debug);
            meta.set_client_capabilities(capabilities_for(ctx));
        }
        meta
    }

    /// Returns the metadata of a request that bypasses rmcp; `None` if there is none.
    fn written_meta(&self, ctx: &CallCtx, id: i64) -> Option<WrittenMeta<'_>> {
        let whole = || {
            let mut meta = self.meta(ctx);
            if let Some(version) = self.stateless() {
                meta.set_protocol_version(version.clone());
                meta.set_client_info(implementation());
            }
            meta
        };
        let wants_progress = ctx.updates.is_heard();
        let is_plain = !wants_progress && ctx.span.is_none();
        if is_plain && self.stateless().is_none() {
            return None;
        }
        if is_plain && ctx.mcp_client.is_none() && ctx.user.is_none() {
            let plain = self.plain_meta.get_or_init(|| {
                let written = serde_json::value::to_raw_value(&whole());
                written.unwrap_or_else(|_| RawValue::NULL.to_owned())
            });
            return Some(WrittenMeta::Plain(plain));
        }
        let mut meta = whole();
        if wants_progress {
            meta.set_progress_token(ProgressToken(RequestId::Number(id)));
        }
        Some(WrittenMeta::Own(meta))
    }

    /// Sends the request to a program, and waits for the answer.
    async fn request_past_rmcp(
        &self,
        outgoing: &Outgoing,
        (params, arguments): (&CallToolRequestParams, &RawValue),
        link: &Arc<CallLink>,
        ctx: &CallCtx,
    ) -> Answered {
        let Some(mut waiting) = self.session.waiting.add(link) else {
            return Answered::failed(ServiceError::TransportClosed);
        };
        let id = waiting.id();
        let written = WrittenRequest {
            jsonrpc: "2.0",
            id: Some(id),
            method: "tools/call",
            params: WrittenCall {
                name: &params.name,
                arguments,
                input_responses: params.input_responses.as_ref(),
                request_state: params.request_state.as_deref(),
                meta: self.written_meta(ctx, id),
            },
        };
        match outgoing.send(&written) {
            Ok(bytes) => waiting.sent(bytes),
            Err(_) if outgoing.is_closed() => {
                return Answered::failed(ServiceError::TransportClosed);
            }
            Err(error) => return Answered::failed(unsent(error)),
        }
        let (why, stopped) = tokio::select! {
            biased;
            answer = waiting.answer() => return Answered::With(answer),
            () = ctx.cancelled() => (ctx.stop_reason().reason(), Answered::Stopped),
            () = link.too_many.cancelled() => (ASKS_TOO_OFTEN, Answered::AskedTooOften),
        };
        let params = CancelledNotificationParam::new(Some(RequestId::Number(id)), Some(why.into()));
        // An error means that the program does not read any more.
        let _ = outgoing.send(&WrittenRequest {
            jsonrpc: "2.0",
            id: None,
            method: "notifications/cancelled",
            params,
        });
        stopped
    }

    async fn request(
        &self,
        params: &CallToolRequestParams,
        link: &Arc<CallLink>,
        ctx: &CallCtx,
    ) -> Answered {
        let mut request = CallToolRequest::new(params.clone());
        request.extensions.insert(link.clone());
        let request = ClientRequest::CallToolRequest(request);
        let options = PeerRequestOptions::no_options().with_meta(self.meta(ctx));
        let handle = self.peer().send_cancellable_request(request, options).await;
        let mut handle = match handle {
            Ok(handle) => handle,
            Err(error) => return Answered::failed(error),
        };
        tokio::select! {
            biased;
            answer = &mut handle.rx => match answer {
                Ok(Ok(result)) => Answered::With(Answer::Result(Box::new(result))),
                Ok(Err(error)) => Answered::failed(error),
                Err(_) => Answered::failed(ServiceError::TransportClosed),
            },
            () = ctx.cancelled() => {
                let why = ctx.stop_reason().reason().to_owned();
                // An error means that the connection has ended, too.
                let _ = handle.cancel(Some(why)).await;
                Answered::Stopped
            }
            () = link.too_many.cancelled() => {
                let _ = handle.cancel(Some(ASKS_TOO_OFTEN.to_owned())).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::put_line;

    #[test]
    fn arguments_keep_their_text() {
        let arguments = "{\"n\": 123456789012345678901234567890,\r\n\"m\":1e400}";
        let arguments = RawValue::from_string(arguments.to_owned()).expect("it is JSON");
        let written = WrittenRequest {
            jsonrpc: "2.0",
            id: Some(7),
            method: "tools/call",
            params: WrittenCall {
                name: "add",
                arguments: &arguments,
                input_responses: None,
                request_state: None,
                meta: None,
            },
        };
        let mut lines = b"before\n".to_vec();
        put_line(&mut lines, &written).expect("it is JSON");
        let expected = "before\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\
                        \"name\":\"add\",\"arguments\":{\"n\": 123456789012345678901234567890,  \"m\":1e400}}}\n";
        assert_eq!(String::from_utf8(lines).expect("it is text"), expected);
    }
}
