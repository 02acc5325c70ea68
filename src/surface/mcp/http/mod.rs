//! MCP over streamable HTTP at `/mcp` for many clients. MCP up to 2025-11 uses sessions; MCP
//! 2026-07 does not.
//!
//! The guard of `surface::http` checks access before a request arrives here. rmcp implements the
//! transport between two layers of haft: one parses the message, the other manages the sessions.

mod incoming;
mod sessions;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use rmcp::model::{ErrorCode, JsonRpcError, ProtocolVersion};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::message::CALL;
use super::message::Sender;
use super::server::Server;
use crate::host::Host;
use crate::surface::http::{
    BodyLimits, BodyMemory, BodyReader, Client, ProblemResponse, Standing, held, says_json,
    too_many,
};
use crate::surface::nats::Sharing;
use haft_tool::CallerScope;
use incoming::Incoming;
use sessions::{Refused, Sessions};

/// Path of the endpoint.
const PATH: &str = "/mcp";
/// Method that streams changes of the tool list in MCP 2026-07.
const LISTEN: &str = "subscriptions/listen";
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Returns the router of the endpoint. With `sharing`, tasks and suspended calls are shared with other
/// hosts. Endless streams end when `stop` fires; connections and
/// sessions end when `cut` fires. Needs a runtime.
pub(crate) fn router(
    host: &Host,
    selection: CallerScope,
    stop: &CancellationToken,
    cut: &CancellationToken,
    sharing: Option<Arc<Sharing>>,
) -> Router {
    let serve = &host.config().serve;
    let limits = BodyLimits::of(serve);
    let sessions = Sessions::new(serve.mcp_sessions as usize, serve.mcp_session_idle);
    let sessions = Arc::new(sessions);
    tokio::spawn(Arc::clone(&sessions).collector(stop.clone()));
    let host = host.called_by(|caller| caller.surface = "mcp-http".to_owned());
    let closing = stop.child_token();
    let host = host.within(&selection);
    let server = Server::new(host, || false, closing, sharing.clone());
    if let Some(sharing) = sharing {
        sharing.answer_with(Arc::new(server.clone()));
    }
    let config = StreamableHttpServerConfig::default()
        // The guard checks the host names and origins.
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(limits.bytes)
        .with_cancellation_token(cut.child_token());
    let service = StreamableHttpService::new(
        move || {
            let server = server.for_connection();
            sessions::expect_end(server.ended().clone());
            Ok(server)
        },
        Arc::clone(&sessions),
        config,
    );
    Router::new()
        .route_service(PATH, service)
        .layer(from_fn_with_state(sessions, prepared))
}

/// Parses the message of a request, and corrects the responses of rmcp.
async fn prepared(
    State(sessions): State<Arc<Sessions>>,
    Extension(client): Extension<Arc<Client>>,
    request: Request,
    next: Next,
) -> Response {
    if sessions.is_of_another(request.headers(), &client) {
        return gone();
    }
    let method = request.method().clone();
    if method == Method::GET {
        return match client.begin_stream() {
            Ok(permit) => held(in_session(&client, next.run(request)).await, permit),
            Err(problem_response) => problem_response.into_response(),
        };
    }
    if method != Method::POST {
        let mut response = in_session(&client, next.run(request)).await;
        // The session has ended when this is answered, and clients take "accepted" for a failure.
        if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::OK;
        }
        return response;
    }
    let (mut parts, body) = request.into_parts();
    let (body, memory) = match read_body(&parts, body).await {
        Ok(read) => read,
        Err(problem_response) => return problem_response.into_response(),
    };
    if !says_json(&parts.headers) {
        // rmcp builds the error response, and checks nothing else first.
        let request = Request::from_parts(parts, Body::empty());
        return next.run(request).await;
    }
    if is_new_era(&parts.headers)
        && let Some(error) = incoming::refusal_of_removed(&body)
    {
        return answer(StatusCode::NOT_FOUND, &error);
    }
    let Incoming {
        text,
        method,
        is_notification,
        arguments,
    } = match incoming::read(body) {
        Ok(incoming) => incoming,
        Err(error) => return refusal(&error, &parts.headers),
    };
    if let Some(arguments) = arguments {
        parts.extensions.insert(arguments);
    }
    if is_notification && is_new_era(&parts.headers) {
        // The protocol does not require the header for notifications, but rmcp does.
        let value = method.as_deref().map(HeaderValue::from_str);
        if let (Some(Ok(value)), false) = (value, parts.headers.contains_key(MCP_METHOD)) {
            parts.headers.insert(MCP_METHOD, value);
        }
    }
    parts.headers.remove(CONTENT_LENGTH);
    let method = method.as_deref();
    let permit = match method {
        Some(CALL) => client.begin_call().map(Some),
        _ => Ok(None),
    };
    let stream = match method {
        Some(LISTEN) => client.begin_stream().map(Some),
        _ => Ok(None),
    };
    let (permit, stream) = match (permit, stream) {
        (Ok(permit), Ok(stream)) => (permit, stream),
        (Err(problem_response), _) | (_, Err(problem_response)) => {
            return problem_response.into_response();
        }
    };
    let sender = Sender::new(Arc::clone(&client), permit, memory);
    parts.extensions.insert(sender);
    let request = Request::from_parts(parts, Body::from(text));
    let mut response = in_session(&client, next.run(request)).await;
    if let Some(stream) = stream {
        response.extensions_mut().insert(Standing);
        response = held(response, stream);
    }
    response
}

async fn read_body(parts: &Parts, body: Body) -> Result<(Vec<u8>, BodyMemory), ProblemResponse> {
    BodyReader::of(&parts.extensions)?.read(body).await
}

/// Returns the response of rmcp, or an error if the session is missing or no session is free.
async fn in_session(client: &Arc<Client>, answered: impl Future<Output = Response>) -> Response {
    let (response, refused) = sessions::noting(Arc::clone(client), answered).await;
    match refused {
        Some(Refused::TooMany(most)) => {
            let text =
                format!("a call runs in each of the {most} sessions that this token may have");
            too_many(text, "wait for one to end").into_response()
        }
        Some(Refused::Full) => {
            let text = "a call runs in every session that this server may have";
            ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, text)
                .hint("try again; serve.mcp_sessions of the configuration is the limit")
                .header(RETRY_AFTER, HeaderValue::from_static("1"))
                .into_response()
        }
        Some(Refused::Gone) if response.status().is_server_error() => gone(),
        _ => response,
    }
}

/// The response for a session that is missing or belongs to another client.
fn gone() -> Response {
    ProblemResponse::not_found("there is no such session any more")
        .hint("send `initialize` again, without a session id")
        .into_response()
}

/// The response for a body that is not a message of the protocol.
fn refusal(error: &JsonRpcError, headers: &HeaderMap) -> Response {
    let is_request = error.error.code == ErrorCode::INVALID_PARAMS;
    let status = if is_request && !is_new_era(headers) {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    };
    answer(status, error)
}

fn answer(status: StatusCode, error: &JsonRpcError) -> Response {
    let Ok(text) = serde_json::to_string(error) else {
        return ProblemResponse::internal("an error cannot be written as JSON").into_response();
    };
    let kind = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, kind)], text).into_response()
}

fn is_new_era(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION);
    let version = version.and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}
