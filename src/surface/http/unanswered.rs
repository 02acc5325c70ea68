//! Counts the requests whose responses are not read yet, so that shutdown can wait for them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use tokio::sync::watch;

use super::held::held;

/// Number of POST requests without a complete response. Endless streams use other methods.
#[derive(Clone, Default)]
pub(crate) struct Unanswered(Arc<watch::Sender<usize>>);

/// One counted request, until it is dropped.
struct Open(Unanswered);

impl Unanswered {
    /// Waits until all requests are answered.
    pub(crate) async fn none(&self) {
        // The sender is held here, so the channel cannot be closed.
        let _ = self.0.subscribe().wait_for(|open| *open == 0).await;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| *open -= 1);
    }
}

/// Wraps `router`, and counts its requests in `unanswered`.
pub(crate) fn counted(router: Router, unanswered: &Unanswered) -> Router {
    router.layer(from_fn_with_state(unanswered.clone(), count))
}

async fn count(State(unanswered): State<Unanswered>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    unanswered.0.send_modify(|open| *open += 1);
    let open = Open(unanswered);
    let response = next.run(request).await;
    held(response, open)
}
