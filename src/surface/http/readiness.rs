//! `GET /api/ready`: whether a balancer may send requests to this server.
//!
//! It needs no token and says nothing else. `GET /api/health` answers as long as the process lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// State that says if a server takes requests.
#[derive(Default)]
pub(crate) struct Readiness(AtomicU8);

const LOADING: u8 = 0;
const READY: u8 = 1;
const DRAINING: u8 = 2;

impl Readiness {
    /// Notes that the tools are loaded.
    pub(crate) fn loaded(&self) {
        // A server that drains does not become ready again.
        let (before, now) = (LOADING, READY);
        let order = Ordering::Relaxed;
        let _ = self.0.compare_exchange(before, now, order, order);
    }

    /// Notes that the server is about to end.
    pub(crate) fn drains(&self) {
        self.0.store(DRAINING, Ordering::Relaxed);
    }
}

/// Returns the route.
pub(crate) fn readiness_router(readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/api/ready", get(ready))
        .with_state(readiness)
}

async fn ready(State(readiness): State<Arc<Readiness>>) -> Response {
    let (status, text) = match readiness.0.load(Ordering::Relaxed) {
        READY => (StatusCode::OK, "ready"),
        LOADING => (StatusCode::SERVICE_UNAVAILABLE, "loading"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    };
    let body = format!("{{\"status\":\"{text}\"}}");
    let head = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-store"),
    ];
    (status, head, body).into_response()
}
