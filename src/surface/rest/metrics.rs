//! `GET /metrics`: numbers about the calls for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};

use crate::host::Host;
use crate::surface::http::{Client, ProblemResponse};

/// Media type of the format.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4";

/// Returns the route, for every server. The calls of `host` are measured from now on.
pub(crate) fn metrics_router(host: &Host) -> Router {
    host.measure_calls();
    Router::new()
        .route("/metrics", get(metrics))
        .with_state(host.clone())
}

/// Only the user sees them, because they contain the names of all tools.
async fn metrics(
    State(host): State<Host>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    client.require_user("see the numbers of all calls")?;
    let kind = HeaderValue::from_static(MEDIA_TYPE);
    Ok(([(CONTENT_TYPE, kind)], host.measures()).into_response())
}
