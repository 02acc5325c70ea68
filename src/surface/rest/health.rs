//! `GET /api/health`: state of the server and of the search for tools.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::response::{bytes, fresh};
use super::state::Shared;
use crate::surface::http::ProblemResponse;
use haft_tool::ScanState;

/// Health of the server.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`, or `stopping` when the server ends.
    status: &'static str,
    /// Haft's version.
    version: &'static str,
    /// State of the search for tools: `NOT_STARTED`, `IN_PROGRESS`, `COMPLETE`, `FAILED`.
    #[schema(value_type = String)]
    tools: ScanState,
}

/// Health of the server. Returns at once.
#[utoipa::path(
    get, path = "/api/health", operation_id = "getHealth", tag = "server",
    responses((status = 200, description = "How it is", body = Health)),
)]
pub(super) async fn health(State(shared): State<Arc<Shared>>) -> Result<Response, ProblemResponse> {
    let status = if shared.stop.is_cancelled() {
        "stopping"
    } else {
        "ok"
    };
    let tools = *shared.host.scan_state().borrow();
    Ok(fresh(bytes(&Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
        tools,
    })?))
}
