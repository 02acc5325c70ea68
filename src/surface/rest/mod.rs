//! REST: the tools, their calls and what happens, for programs that speak HTTP.
//!
//! `GET /api/tools`, `GET /api/tools/{name}` and `POST /api/tools/reload` have aynd's exact bodies
//! (spec aynd 68–71); the rest is what users of a tool server expect. `docs/rest.md` is the contract.

mod health;
mod state;
mod tool_info;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use state::Shared;

/// All of `/api`. Streams end when `stop` fires.
pub(crate) fn router(host: &Host, stop: &CancellationToken) -> Router {
    let shared = Arc::new(Shared::new(host.clone(), stop.clone()));
    Router::new()
        .route("/api/health", get(health::health))
        .route("/api/tools", get(tools::list))
        // A tool may have this name: it is looked up as any other.
        .route(
            "/api/tools/reload",
            post(tools::reload).get(tools::named_reload),
        )
        .route("/api/tools/{name}", get(tools::one))
        .with_state(shared)
}
