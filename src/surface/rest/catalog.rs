//! `GET /api/catalog`: the complete catalog, as `haft list --json` prints it, with the rights of the
//! tools and the source lines of problems.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::response::{bytes, fresh};
use super::state::Shared;
use crate::surface::http::{Client, ProblemResponse};
use crate::surface::wire::Listing;

/// Every tool with all that is known of it, those that are hidden or not trusted among them, and what
/// is wrong with what was found.
#[utoipa::path(
    get, path = "/api/catalog", operation_id = "getCatalog", tag = "tools",
    responses((status = 200, description = "The catalog", body = Listing<'static>)),
)]
pub(super) async fn catalog(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    let catalog = shared.host.catalog().await;
    let listing = if client.is_user() {
        Listing::from(&*catalog).with_frames(&catalog)
    } else {
        Listing::of_tools(&catalog, |tool| client.scope().allows(tool))
    };
    Ok(fresh(bytes(&listing.with_rights(&catalog))?))
}
