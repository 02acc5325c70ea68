//! Many clients over streamable HTTP at `/mcp`: sessions for the older era, none for the newer.
//!
//! Who may talk to us is checked by the guard of `surface::http` before anything comes here.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::request;
use super::selection::Selection;
use super::server::Server;
use crate::host::Host;
use crate::surface::http::{CallBook, Fault};

/// Where clients find it.
const PATH: &str = "/mcp";
/// A session of which nothing was heard for so long is forgotten. A call may be silent for hours.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// The endpoint. What streams without end does so until `stop` fires; connections and sessions are cut
/// when `cut` does. Calls are entered in `book`.
pub(crate) fn router(
    host: &Host,
    selection: Selection,
    stop: &CancellationToken,
    cut: &CancellationToken,
    book: Option<Arc<dyn CallBook>>,
) -> Router {
    let most = (host.config().serve.body_mb as usize) << 20;
    let server = Server::new(host.clone(), selection, || false, stop.child_token(), book);
    let config = StreamableHttpServerConfig::default()
        // The guard knows which names and origins are ours.
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(most)
        .with_cancellation_token(cut.child_token());
    let mut idle = SessionConfig::default();
    idle.keep_alive = Some(IDLE);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = idle;
    let service = StreamableHttpService::new(
        move || Ok(server.for_connection()),
        Arc::new(sessions),
        config,
    );
    Router::new()
        .route_service(PATH, service)
        .layer(from_fn_with_state(most, with_raw_arguments))
}

/// Puts the text of a call's arguments beside the request.
async fn with_raw_arguments(State(most): State<usize>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    if method != Method::POST {
        let mut response = next.run(request).await;
        // The session is gone when that is answered; clients take "accepted" for a failure.
        if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::OK;
        }
        return response;
    }
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, most).await else {
        let text = format!("a message has at most {} MB", most >> 20);
        return Fault::new(StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
    };
    if let Some(arguments) = request::raw_arguments(&body) {
        parts.extensions.insert(arguments);
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}
