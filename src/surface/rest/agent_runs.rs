//! `/api/sessions`: starts an agent with a prompt and streams its events (spec aynd 74, 75).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::call;
use super::response::{bytes, fresh};
use crate::agent_runs::{Happened, Refused, Session, Sessions, State as How, Wish};
use crate::event_log::Next;
use crate::surface::http::{Client, JsonText, PathText, ProblemResponse, Standing, held, sse};
use crate::surface::wire;
use haft_tool::ErrorKind;
use haft_tool::{Timestamp, Tool};

/// Time for which session streams continue after shutdown has started. Sessions end long before; a
/// reader that hangs does not matter.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// State that the routes share.
pub(super) struct Desk {
    sessions: Sessions,
    /// Fires when the server ends.
    stop: CancellationToken,
}

/// Request for a session.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SessionRequest {
    /// Task of the agent.
    #[schema(min_length = 1)]
    prompt: String,
    /// Working directory: the server's directory, or one below it.
    project_path: Option<String>,
    /// In the agent's own words: the configured one, or a stricter one.
    permission_mode: Option<String>,
    /// The tools that it gets, by their names; all of them if nothing is said.
    allowed_tools: Option<Vec<String>>,
}

/// A session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
pub(super) struct SessionView<'a> {
    /// Its id.
    session_id: &'a str,
    /// `running`, `completed`, `failed` or `cancelled`.
    state: &'static str,
    prompt: &'a str,
    /// Working directory.
    project_path: String,
    permission_mode: &'a str,
    /// The names under which the agent may call the tools.
    allowed_tools: &'a [String],
    /// When it was started, UTC.
    #[schema(format = DateTime)]
    started_at: String,
    /// Number of events so far.
    events: u64,
}

/// The sessions that are known.
#[derive(Serialize, ToSchema)]
pub(super) struct SessionList<'a> {
    /// The newest first: those that run, and the last 50 that ended.
    sessions: Vec<SessionView<'a>>,
}

/// Result of a request to end a session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionCancelled<'a> {
    /// The session's id.
    session_id: &'a str,
    /// True if it was running, and is being ended; false if it had ended.
    cancelled: bool,
}

/// Returns the routes of sessions.
pub(crate) fn sessions_router(sessions: &Sessions, stop: &CancellationToken) -> Router {
    let desk = Arc::new(Desk {
        sessions: sessions.clone(),
        stop: stop.clone(),
    });
    Router::new()
        .route("/api/sessions", post(start).get(list))
        .route("/api/sessions/{id}", get(one).delete(cancel))
        .route("/api/sessions/{id}/events", get(events))
        .with_state(desk)
}

/// Starts the configured agent. It runs whether or not a client listens. With `Accept: text/event-stream` the answer
/// is the stream of `/api/sessions/{id}/events`.
#[utoipa::path(
    post, path = "/api/sessions", operation_id = "startSession", tag = "sessions",
    request_body(content = SessionRequest, content_type = "application/json"),
    responses((status = 201, description = "The session", content(
        (SessionView<'static> = "application/json"), (String = "text/event-stream")))),
)]
pub(super) async fn start(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    check_scope(&client)?;
    let hint = "like {\"prompt\": \"…\", \"projectPath\": \"…\", \"permissionMode\": \"…\"}";
    let request: SessionRequest = call::parse(&text, "session", hint)?;
    let wish = Wish {
        prompt: request.prompt,
        project: request.project_path.map(PathBuf::from),
        permission_mode: request.permission_mode,
        tools: request.allowed_tools,
        owner: client.id().to_owned(),
        allows: Arc::new({
            let client = Arc::clone(&client);
            move |tool: &Tool| client.scope().allows(tool)
        }),
        max_tier: client.scope().max_tier(),
        ended: client.ended().clone(),
    };
    let session = desk.sessions.start(wish).await.map_err(refused)?;
    let place = HeaderValue::from_str(&format!("/api/sessions/{}", session.id));
    let mut response = if sse::is_preferred(&headers) {
        told(&desk, &client, session, 0)?
    } else {
        fresh(bytes(&SessionView::from(&*session))?)
    };
    *response.status_mut() = StatusCode::CREATED;
    if let Ok(place) = place {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

/// The sessions that run, and the last that ended.
#[utoipa::path(
    get, path = "/api/sessions", operation_id = "listSessions", tag = "sessions",
    responses((status = 200, description = "The sessions", body = SessionList<'static>)),
)]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    check_scope(&client)?;
    let all = desk.sessions.all();
    let own = all.iter().filter(|one| client.scope().may_see(&one.owner));
    let sessions = own.map(|one| SessionView::from(&**one)).collect();
    Ok(fresh(bytes(&SessionList { sessions })?))
}

/// One session.
#[utoipa::path(
    get, path = "/api/sessions/{id}", operation_id = "getSession", tag = "sessions",
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, description = "The session", body = SessionView<'static>)),
)]
pub(super) async fn one(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
) -> Result<Response, ProblemResponse> {
    let session = desk.session(&client, &id)?;
    Ok(fresh(bytes(&SessionView::from(&*session))?))
}

/// Events of a session, as server-sent events: `message`, `tool_use`, `tool_result`, `error`, and
/// `completed` at the end. From the first on; with `Last-Event-ID` from the one after it.
#[utoipa::path(
    get, path = "/api/sessions/{id}/events", operation_id = "followSession", tag = "sessions",
    params(
        ("id" = String, Path, description = "The session's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was seen"),
    ),
    responses((status = 200, description = "The events", body = String, content_type = "text/event-stream")),
)]
pub(super) async fn events(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    headers: HeaderMap,
) -> Result<Response, ProblemResponse> {
    let session = desk.session(&client, &id)?;
    let last = sse::last_event_id(&headers);
    let last = last.and_then(|last| last.trim().parse::<u64>().ok());
    // Events that do not exist yet are awaited, so the number of an event of another session does
    // no harm.
    let from = last.map_or(0, |last| last.saturating_add(1).min(session.log.count()));
    told(&desk, &client, session, from)
}

/// Ends a session with everything it started. Its last event says so.
#[utoipa::path(
    delete, path = "/api/sessions/{id}", operation_id = "cancelSession", tag = "sessions",
    params(("id" = String, Path, description = "The session's id")),
    responses(
        (status = 202, description = "It is being ended", body = SessionCancelled<'static>),
        (status = 200, description = "It had ended already", body = SessionCancelled<'static>),
    ),
)]
pub(super) async fn cancel(
    State(desk): State<Arc<Desk>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
) -> Result<Response, ProblemResponse> {
    let session = desk.session(&client, &id)?;
    let cancelled = session.state() == How::Running;
    session.cancel();
    let status = if cancelled {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    let body = bytes(&SessionCancelled {
        session_id: &id,
        cancelled,
    })?;
    Ok((status, fresh(body)).into_response())
}

/// Returns the stream of a session's events from this number on. The server ends its sessions
/// before its connections, so the last events are still sent.
fn told(
    desk: &Desk,
    client: &Client,
    session: Arc<Session>,
    from: u64,
) -> Result<Response, ProblemResponse> {
    let permit = client.begin_stream()?;
    let stopped = desk.stop.clone();
    let mut response = sse::response(frames(session, from).take_until(async move {
        stopped.cancelled().await;
        // Longer than a session needs to end. The server disconnects a reader that hangs.
        sleep(LAST_WORDS).await;
    }));
    // The session continues without this stream, and its events can be requested again.
    response.extensions_mut().insert(Standing);
    Ok(held(response, permit))
}

fn frames(session: Arc<Session>, from: u64) -> impl Stream<Item = Bytes> + Send + 'static {
    let hello = json!({"sessionId": session.id}).to_string();
    let hello = stream::iter((from == 0).then(|| sse::frame("session", None, &hello)));
    let rest = stream::unfold((session, from), |(session, at)| async move {
        match session.log.next(at).await {
            Next::Event(event) => {
                let frame = sse::frame(
                    event.kind.as_str(),
                    Some(&at.to_string()),
                    &event.data.to_string(),
                );
                Some((frame, (session, at + 1)))
            }
            Next::Gap(first) => {
                let lost = first - at;
                let gap = Happened::error(format!("{lost} events are not kept any more"), false);
                let frame = sse::frame(gap.kind.as_str(), None, &gap.data.to_string());
                Some((frame, (session, first)))
            }
            Next::End => None,
        }
    });
    hello.chain(rest)
}

fn refused(why: Refused) -> ProblemResponse {
    match why {
        Refused::Off => ProblemResponse::forbidden("this server has no sessions")
            .hint("`sessions: {enabled: true}` in its configuration lets it start agents"),
        Refused::Busy(most) => {
            let text = format!("{most} sessions run, which is as many as may");
            ProblemResponse::new(StatusCode::TOO_MANY_REQUESTS, text)
                .hint("wait for one, or end one; `sessions.most` in the configuration is the limit")
        }
        Refused::Ending => {
            ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending")
        }
        // The request may be valid: the agent is missing on this machine.
        Refused::Because(error) if error.kind() == ErrorKind::Load => {
            ProblemResponse::of_error(StatusCode::FAILED_DEPENDENCY, &error)
        }
        Refused::Because(error) => error.into(),
    }
}

impl Desk {
    /// Returns the session with this id, if the client may see it.
    fn session(&self, client: &Client, id: &str) -> Result<Arc<Session>, ProblemResponse> {
        check_scope(client)?;
        let session = self.sessions.get(id);
        let session = session.filter(|session| client.scope().may_see(&session.owner));
        session.ok_or_else(|| unknown(id))
    }
}

/// Checks the permission for sessions, because an agent can do more than call tools.
fn check_scope(client: &Client) -> Result<(), ProblemResponse> {
    if client.allows_sessions() {
        Ok(())
    } else {
        Err(
            ProblemResponse::forbidden("this token is not for sessions of an agent")
                .hint("`haft token new --sessions` makes one that is"),
        )
    }
}

fn unknown(id: &str) -> ProblemResponse {
    ProblemResponse::not_found(format!("there is no session `{id}`"))
        .hint("the last 50 that ended are remembered")
}

impl<'a> From<&'a Session> for SessionView<'a> {
    fn from(session: &'a Session) -> SessionView<'a> {
        SessionView {
            session_id: &session.id,
            state: session.state().as_str(),
            prompt: &session.prompt,
            project_path: wire::path(&session.project).into_owned(),
            permission_mode: &session.permission_mode,
            allowed_tools: &session.allowed_tools,
            started_at: Timestamp::of(session.started).precise(),
            events: session.log.count(),
        }
    }
}
