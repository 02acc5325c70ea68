//! Many clients over streamable HTTP at `/mcp`: sessions for the older era, none for the newer.
//!
//! Who may talk to us is checked by the guard of `surface::http` before anything comes here. rmcp does
//! the rest, between two layers of ours: one reads the message, the other knows the sessions.

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
use super::request::Sender;
use super::selection::Selection;
use super::server::Server;
use crate::host::Host;
use crate::surface::http::{
    BodyLimits, BodyMemory, BodyReader, CallBook, Client, Fault, Standing, held, says_json,
    too_many,
};
use incoming::Incoming;
use sessions::{Refused, Sessions};

/// Where clients find it.
const PATH: &str = "/mcp";
/// What streams changes in the newer era.
const LISTEN: &str = "subscriptions/listen";
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The endpoint. What streams without end does so until `stop` fires; connections and sessions are cut
/// when `cut` does. Calls are entered in `book`. Needs a runtime.
pub(crate) fn router(
    host: &Host,
    selection: Selection,
    stop: &CancellationToken,
    cut: &CancellationToken,
    book: Option<Arc<dyn CallBook>>,
) -> Router {
    let serve = &host.config().serve;
    let limits = BodyLimits::of(serve);
    let sessions = Sessions::new(serve.mcp_sessions as usize, serve.mcp_session_idle);
    let sessions = Arc::new(sessions);
    tokio::spawn(Arc::clone(&sessions).sweep(stop.clone()));
    let host = host.called_by(|caller| caller.surface = "mcp-http".to_owned());
    let server = Server::new(host, selection, || false, stop.child_token(), book);
    let config = StreamableHttpServerConfig::default()
        // The guard knows which names and origins are ours.
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

/// Reads the message of a request, and mends what rmcp makes of it.
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
            Err(fault) => fault.into_response(),
        };
    }
    if method != Method::POST {
        let mut response = in_session(&client, next.run(request)).await;
        // The session is gone when that is answered; clients take "accepted" for a failure.
        if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::OK;
        }
        return response;
    }
    let (mut parts, body) = request.into_parts();
    let (body, memory) = match read_body(&parts, body).await {
        Ok(read) => read,
        Err(fault) => return fault.into_response(),
    };
    if !says_json(&parts.headers) {
        // rmcp has the words for it, and looks at nothing else before.
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
        // Of notifications the protocol does not demand it, but rmcp does.
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
        (Err(fault), _) | (_, Err(fault)) => return fault.into_response(),
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

async fn read_body(parts: &Parts, body: Body) -> Result<(Vec<u8>, BodyMemory), Fault> {
    BodyReader::of(&parts.extensions)?.read(body).await
}

/// What is answered, unless the reason is that there is no such session or no room for one.
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
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, text)
                .hint("try again; serve.mcp_sessions of the configuration is the limit")
                .header(RETRY_AFTER, HeaderValue::from_static("1"))
                .into_response()
        }
        Some(Refused::Gone) if response.status().is_server_error() => gone(),
        _ => response,
    }
}

/// The answer where there is no such session, or it is another client's.
fn gone() -> Response {
    Fault::not_found("there is no such session any more")
        .hint("send `initialize` again, without a session id")
        .into_response()
}

/// The answer to what is not a message, or not one of the protocol.
fn refusal(error: &JsonRpcError, headers: &HeaderMap) -> Response {
    let is_request = error.error.code == ErrorCode::INVALID_PARAMS;
    let status = match is_request && !is_new_era(headers) {
        // Up to 2025-11-25 a request is answered, whatever is wrong with it.
        true => StatusCode::OK,
        false => StatusCode::BAD_REQUEST,
    };
    answer(status, error)
}

fn answer(status: StatusCode, error: &JsonRpcError) -> Response {
    let Ok(text) = serde_json::to_string(error) else {
        return Fault::internal("an error cannot be written as JSON").into_response();
    };
    let kind = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, kind)], text).into_response()
}

fn is_new_era(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION);
    let version = version.and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}
