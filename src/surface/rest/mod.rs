//! REST: tools, calls and events for HTTP clients.
//!
//! `GET /api/tools`, `GET /api/tools/{name}` and `POST /api/tools/reload` have the same bodies as
//! aynd's (spec aynd 68–71). The other routes are usual for a tool server. `docs/rest.md` is the
//! specification.

mod openapi;

mod aynd_dto;
mod catalog;
mod tools;

mod call;
mod call_dto;
mod calls;

mod questions;

mod event_ring;
mod events;
mod history;

mod agent_runs;

mod health;
mod state;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
pub(crate) use agent_runs::sessions_router;
use state::Shared;

/// Returns the routes of `/api`. Streams end when `stop` fires. From now on the host keeps the ended
/// calls of all surfaces for `/api/calls`. Needs a runtime.
pub(crate) fn router(host: &Host, stop: &CancellationToken) -> Router {
    let host = host.called_by(|caller| caller.surface = "rest".to_owned());
    let shared = Arc::new(Shared::new(host, stop.clone()));
    tokio::spawn(Arc::clone(&shared).tell_changes());
    Router::new()
        .route("/api/health", get(health::health))
        .route("/api/tools", get(tools::list))
        // A tool may be named `reload`: GET looks it up like any other tool.
        .route(
            "/api/tools/reload",
            post(tools::reload).get(tools::named_reload),
        )
        .route("/api/tools/{name}", get(tools::one))
        .route("/api/tools/{name}/call", post(call::call))
        .route("/api/catalog", get(catalog::catalog))
        .route("/api/calls", get(calls::list))
        .route("/api/calls/{id}", get(calls::one).delete(calls::cancel))
        .route("/api/questions", get(questions::list))
        .route("/api/questions/{id}", post(questions::answer))
        .route("/api/events", get(events::events))
        .route("/api/openapi.json", get(openapi::openapi))
        .with_state(shared)
}
