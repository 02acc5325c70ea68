//! `/api/queue`: calls that wait for a host or run on one, and their results.
//!
//! The queue is that of the tenant that the server shares its calls with, or that of an entry of
//! `remote`. A client sees its own calls, and the user sees all.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::questions::ANSWER;
use super::response::{bytes, fresh};
use super::state::Shared;
use crate::credentials::random_id;
use crate::host::no_such_tool;
use crate::surface::http::{
    Client, JsonText, PathText, Peer, ProblemResponse, QueryOptions, held, sse,
};
use crate::surface::nats::QueuedBy;
use crate::surface::queued_view::{QueuedView, owner};
use crate::surface::traces;
use crate::surface::wire::OutcomeView;
use haft_nats::{Following, Queue, QueueEntry, QueueEvent, QueuedCall};
use haft_tool::{Call, Error, ErrorKind, Family};

/// Limit of the time for which a request waits for the end of a call, in milliseconds. The description
/// of the route states it, too.
const MAX_WAIT_MS: u64 = 3_600_000;

/// Place of a queue.
#[derive(Deserialize)]
pub(super) struct Place {
    remote: Option<String>,
}

/// Options for reading a call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Options {
    remote: Option<String>,
    wait_ms: Option<u64>,
}

/// The queued calls that are known.
#[derive(Serialize, ToSchema)]
pub(super) struct QueuedList<'a> {
    /// The calls, the oldest first.
    calls: Vec<QueuedView<'a>>,
}

/// A queued call with its end, if it has one.
#[derive(Serialize, ToSchema)]
pub(super) struct QueuedResult<'a> {
    #[serde(flatten)]
    call: QueuedView<'a>,
    /// The outcome of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    result: Option<OutcomeView<'a>>,
    /// Why it could not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    error: Option<Box<RawValue>>,
}

/// An answer to a question of a queued call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueuedAnswer {
    /// The number of the question.
    question: u64,
    /// The answer: a text, true or false, the result of a request; null dismisses the question.
    #[serde(default)]
    #[schema(value_type = Object)]
    value: Value,
}

/// Details of the outcome of a call of a tool of other hosts that was queued.
#[derive(Deserialize)]
struct QueuedElsewhere {
    queued: QueuedPlace,
}

#[derive(Deserialize)]
struct QueuedPlace {
    id: String,
    remote: String,
}

/// A call that a client wants to queue.
pub(super) struct ToQueue {
    pub(super) tool: String,
    pub(super) arguments: Box<RawValue>,
    pub(super) timeout: Option<Duration>,
    pub(super) answers_questions: bool,
    /// Set if it also wants what a queued call has not.
    pub(super) has_more: bool,
}

/// Returns true if the client prefers that a call is queued.
pub(super) fn is_preferred(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter();
    let mut words = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    words.any(|word| word.trim().eq_ignore_ascii_case("respond-async"))
}

/// Queues a call, and returns its place.
pub(super) async fn put(
    shared: &Shared,
    client: &Client,
    peer: &Peer,
    headers: &HeaderMap,
    asked: ToQueue,
) -> Result<Response, ProblemResponse> {
    if asked.has_more {
        let text = "a queued call is not recorded, and the queue chooses its id";
        let problem = ProblemResponse::new(StatusCode::CONFLICT, text);
        return Err(problem.hint("leave out `record` and `callId`"));
    }
    if asked.answers_questions {
        client.require_user(ANSWER)?;
    }
    let host = traces::below(client.host(&shared.host), traces::of_headers(headers));
    let mut host = host.called_by(|caller| peer.describe(caller));
    if asked.answers_questions {
        host = host
            .asking(shared.questions.clone())
            .with_ui(shared.questions.clone());
    }
    let call = Call {
        id: format!("call-{}", random_id()),
        tool: asked.tool,
        arguments: asked.arguments,
    };
    let catalog = shared.host.catalog_for_calls().await;
    let tool = catalog.find(&call.tool);
    let tool = tool.ok_or_else(|| no_such_tool(&call.tool, &[]))?;
    if tool.tool.source.family == Family::Remote {
        if !client.is_user() {
            let text = "this token may call tools of other hosts, not queue their calls";
            return Err(ProblemResponse::forbidden(text).hint("the server's own token may"));
        }
        let outcome = host.queueing().call(call, None).outcome().await?;
        let Ok(QueuedElsewhere { queued }) = serde_json::from_value(outcome.details.clone()) else {
            // It was stopped before it was put there.
            let text = outcome.text();
            return Err(ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, text));
        };
        let queue = shared.host.remote_hosts(&queued.remote)?.queue().await?;
        let read = queue.read(&queued.id).await?;
        return accepted(&read.call, Some(&queued.remote));
    }
    // What does not fit the tool need not wait for that.
    host.validate(&call).await?;
    let Some(sharing) = &shared.sharing else {
        return Err(no_queue().into());
    };
    let by = QueuedBy {
        owner: client.id(),
        answers: asked.answers_questions,
    };
    let put = sharing.put(&host, &call, asked.timeout, by).await?;
    let put = put.ok_or_else(|| {
        let text = format!("calls of `{}` cannot be queued", call.tool);
        let hint = "it is not offered to other hosts: it is hidden, not trusted or left out";
        Error::new(ErrorKind::Usage, text).with_hint(hint)
    })?;
    accepted(&put, None)
}

fn accepted(call: &QueuedCall, remote: Option<&str>) -> Result<Response, ProblemResponse> {
    let id = &call.id;
    let place = match remote {
        Some(remote) => format!("/api/queue/{id}?remote={}", escaped(remote)),
        None => format!("/api/queue/{id}"),
    };
    let body = bytes(&QueuedView::from(call))?;
    let mut response = (StatusCode::ACCEPTED, fresh(body)).into_response();
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

fn escaped(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect()
}

/// The client's queued calls. The user sees all of the tenant.
#[utoipa::path(
    get, path = "/api/queue", operation_id = "listQueue", tag = "calls",
    params(("remote" = Option<String>, Query, description = "The entry of `remote` whose queue it is; without it the one of this server")),
    responses((status = 200, description = "The calls", body = QueuedList<'static>)),
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    QueryOptions(place): QueryOptions<Place>,
) -> Result<Response, ProblemResponse> {
    let queue = queue_of(&shared, place.remote.as_deref()).await?;
    let mut calls = queue.list().await?;
    calls.retain(|call| client.scope().may_see(owner(call)));
    let calls = calls.iter().map(QueuedView::from).collect();
    Ok(fresh(bytes(&QueuedList { calls })?))
}

/// One queued call, with its result when it has ended. With `waitMs` the answer waits for the end so
/// long; with `Accept: text/event-stream` it is a stream of the events `state`, `update`, `log` and
/// `result`, or `error`. Going away does not cancel the call.
#[utoipa::path(
    get, path = "/api/queue/{id}", operation_id = "getQueued", tag = "calls",
    params(
        ("id" = String, Path, description = "The call's id"),
        ("remote" = Option<String>, Query, description = "The entry of `remote` whose queue it is"),
        ("waitMs" = Option<u64>, Query, maximum = 3_600_000, description = "Time to wait for the end"),
    ),
    responses((status = 200, description = "The call", content(
        (QueuedResult<'static> = "application/json"), (String = "text/event-stream")))),
)]
pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    QueryOptions(options): QueryOptions<Options>,
    headers: HeaderMap,
) -> Result<Response, ProblemResponse> {
    let wait = options.wait_ms.unwrap_or_default();
    if wait > MAX_WAIT_MS {
        let text = format!("`waitMs` is at most {MAX_WAIT_MS}");
        return Err(ProblemResponse::bad_request(text));
    }
    let queue = queue_of(&shared, options.remote.as_deref()).await?;
    let is_stream = sse::is_preferred(&headers);
    let entry = if is_stream || wait > 0 {
        // What happens after it was read is heard.
        let mut following = queue.follow(&id).await;
        let entry = visible(&client, &id, following.read().await.cloned())?;
        if is_stream {
            let permit = client.begin_stream()?;
            return Ok(held(events(following), permit));
        }
        if entry.call.status.is_end() {
            entry
        } else {
            let _permit = client.begin_stream()?;
            let waited = tokio::select! {
                ended = timeout(Duration::from_millis(wait), following.ended()) => ended.ok(),
                () = shared.stop.cancelled() => None,
            };
            let now = match waited {
                Some(ended) => ended,
                None => queue.read(&id).await,
            };
            visible(&client, &id, now)?
        }
    } else {
        known(&queue, &client, &id).await?
    };
    let ended = queue.outcome(&entry).await;
    let (result, error) = match &ended {
        Some(Ok(outcome)) => (Some(OutcomeView::from(outcome)), None),
        Some(Err(error)) => (None, problem(error)),
        None => (None, None),
    };
    Ok(fresh(bytes(&QueuedResult {
        call: QueuedView::from(&entry.call),
        result,
        error,
    })?))
}

/// Cancels a queued call: one that waits ends at once, and the host of one that runs is asked.
#[utoipa::path(
    delete, path = "/api/queue/{id}", operation_id = "cancelQueued", tag = "calls",
    params(
        ("id" = String, Path, description = "The call's id"),
        ("remote" = Option<String>, Query, description = "The entry of `remote` whose queue it is"),
    ),
    responses(
        (status = 202, description = "Its host is asked to end it", body = QueuedView<'static>),
        (status = 200, description = "It has ended", body = QueuedView<'static>),
    ),
)]
pub(super) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    QueryOptions(place): QueryOptions<Place>,
) -> Result<Response, ProblemResponse> {
    let queue = queue_of(&shared, place.remote.as_deref()).await?;
    let entry = known(&queue, &client, &id).await?;
    let call = queue.cancel(&entry).await?.call;
    let status = if call.status.is_end() {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    let body = bytes(&QueuedView::from(&call))?;
    Ok((status, fresh(body)).into_response())
}

/// Answers a question of a queued call. The first answer counts. Only with the server's own token.
#[utoipa::path(
    post, path = "/api/queue/{id}/answers", operation_id = "answerQueued", tag = "calls",
    params(
        ("id" = String, Path, description = "The call's id"),
        ("remote" = Option<String>, Query, description = "The entry of `remote` whose queue it is"),
    ),
    request_body(content = QueuedAnswer, content_type = "application/json", description = "The answer"),
    responses((status = 200, description = "The answer was accepted", body = QueuedView<'static>)),
)]
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    QueryOptions(place): QueryOptions<Place>,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    client.require_user(ANSWER)?;
    let queue = queue_of(&shared, place.remote.as_deref()).await?;
    let entry = known(&queue, &client, &id).await?;
    let answer: QueuedAnswer = serde_json::from_str(&text).map_err(|error| {
        let text = format!("the body is not an answer: {error}");
        let problem = ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, text);
        problem.hint("like {\"question\": 1048577, \"value\": \"Ada\"}")
    })?;
    let answered = queue.answer(&entry, answer.question, answer.value).await;
    let answered = answered.map_err(|error| match error.kind() {
        ErrorKind::Usage => ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, error.message()),
        _ => error.into(),
    })?;
    Ok(fresh(bytes(&QueuedView::from(&answered.call))?))
}

/// Returns the queue of an entry of `remote`, or that of this server.
async fn queue_of(shared: &Shared, remote: Option<&str>) -> Result<Queue, ProblemResponse> {
    if let Some(name) = remote {
        let hosts = shared.host.remote_hosts(name);
        let hosts = hosts.map_err(|error| ProblemResponse::not_found(error.message()))?;
        return Ok(hosts.queue().await?);
    }
    if let Some(sharing) = &shared.sharing {
        return Ok(sharing.queue()?.clone());
    }
    match shared.host.remote_hosts_or_only(None) {
        Ok(hosts) => Ok(hosts.queue().await?),
        Err(_) => Err(no_queue().into()),
    }
}

fn no_queue() -> Error {
    let text = "this server has no queue";
    let hint = "`serve.nats.url` and `serve.nats.share` in the configuration give it one";
    Error::new(ErrorKind::Unavailable, text).with_hint(hint)
}

/// Reads a queued call that the client may see.
async fn known(queue: &Queue, client: &Client, id: &str) -> Result<QueueEntry, ProblemResponse> {
    visible(client, id, queue.read(id).await)
}

/// Returns a queued call that was read, if the client may see it.
fn visible(
    client: &Client,
    id: &str,
    read: Result<QueueEntry, Error>,
) -> Result<QueueEntry, ProblemResponse> {
    match read {
        Ok(entry) if client.scope().may_see(owner(&entry.call)) => Ok(entry),
        Err(error) if error.kind() != ErrorKind::Usage => Err(error.into()),
        _ => {
            let problem = ProblemResponse::not_found(format!("there is no queued call `{id}`"));
            Err(problem.hint("results are kept for some days"))
        }
    }
}

fn problem(error: &Error) -> Option<Box<RawValue>> {
    RawValue::from_string(ProblemResponse::from(error).json()).ok()
}

/// Returns the stream of a call's events.
fn events(following: Following) -> Response {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Partial<'a> {
        partial_result: &'a RawValue,
    }
    #[derive(Serialize)]
    struct Line<'a> {
        level: &'static str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<&'a RawValue>,
    }
    fn frame(event: &str, data: &impl Serialize) -> Bytes {
        // Strings and JSON can always be serialized.
        sse::frame(
            event,
            None,
            &serde_json::to_string(data).unwrap_or_default(),
        )
    }
    let frames = futures::stream::unfold(Some(following), async |following| {
        let mut following = following?;
        loop {
            let (event, is_last) = match following.next().await {
                Ok(QueueEvent::State(call)) => (frame("state", &QueuedView::from(&*call)), false),
                Ok(QueueEvent::Update(update)) => {
                    let partial_result = &*update;
                    (frame("update", &Partial { partial_result }), false)
                }
                Ok(QueueEvent::Log(line)) => {
                    let level = line.level.as_str();
                    let (message, context) = (line.message.as_str(), line.context.as_deref());
                    let line = Line {
                        level,
                        message,
                        context,
                    };
                    (frame("log", &line), false)
                }
                Ok(QueueEvent::Tell(_)) => continue,
                Ok(QueueEvent::Ended(Ok(outcome))) => {
                    (frame("result", &OutcomeView::from(&outcome)), true)
                }
                Ok(QueueEvent::Ended(Err(error))) | Err(error) => {
                    let problem = ProblemResponse::from(&error).json();
                    (sse::frame("error", None, &problem), true)
                }
            };
            return Some((event, (!is_last).then_some(following)));
        }
    });
    sse::response(Box::pin(frames))
}
