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
mod drawing;

mod answers;
mod questions;
mod queued;
mod recorded;

mod event_ring;
mod events;
mod history;
mod metrics;

mod agent_runs;

mod health;
mod response;
mod state;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::surface::nats::Sharing;
pub(crate) use agent_runs::sessions_router;
use event_ring::Feeds;
pub(crate) use metrics::metrics_router;
use questions::{PageUser, Questions};
use state::Shared;

/// The routes of `/api`, and the host for other surfaces of the same server.
pub(crate) struct Rest {
    pub(crate) router: Router,
    /// Its calls ask the people at the open pages, unless a handle names another user.
    pub(crate) host: Host,
}

/// Returns the routes of `/api`. Streams end when `stop` fires. From now on the host keeps the ended
/// calls of all surfaces for `/api/calls`. With `sharing`, calls can be put into the queue of its
/// tenant. Needs a runtime.
pub(crate) fn rest(host: &Host, stop: &CancellationToken, sharing: Option<Arc<Sharing>>) -> Rest {
    let feeds = Arc::<Feeds>::default();
    let questions = Arc::new(Questions::new(Arc::clone(&feeds)));
    let user = Arc::new(PageUser(Arc::clone(&questions)));
    host.set_default_ui(Some(user.clone()));
    let host = host.asking(user);
    let own = host.called_by(|caller| caller.surface = "rest".to_owned());
    let shared = Arc::new(Shared::new(own, feeds, questions, stop.clone(), sharing));
    tokio::spawn(Arc::clone(&shared).tell_changes());
    let router = router(shared);
    Rest { router, host }
}

fn router(shared: Arc<Shared>) -> Router {
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
        .route("/api/run", post(call::run))
        .route("/api/catalog", get(catalog::catalog))
        .route("/api/calls", get(calls::list))
        .route("/api/calls/{id}", get(calls::one).delete(calls::cancel))
        .route("/api/calls/{id}/drawing", get(drawing::drawing))
        .route(
            "/api/calls/{id}/test",
            get(calls::test).post(calls::save_test),
        )
        .route("/api/queue", get(queued::list))
        .route("/api/queue/{id}", get(queued::one).delete(queued::cancel))
        .route("/api/queue/{id}/answers", post(queued::answer))
        .route("/api/questions", get(answers::list))
        .route("/api/questions/{id}", post(answers::answer))
        .route("/api/questions/{id}/input", post(answers::input))
        .route("/api/events", get(events::events))
        .route("/api/openapi.json", get(openapi::openapi))
        .with_state(shared)
}
