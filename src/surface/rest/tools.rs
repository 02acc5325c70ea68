//! `/api/tools`: lists and reloads the tools, with aynd's bodies (spec aynd 68–71).

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::aynd_dto::{Reloaded, ToolInfo, ToolList};
use super::response::{bytes, fresh, json};
use super::state::Shared;
use crate::surface::http::{Client, PathText, ProblemResponse};

/// All tools that may be called, the built-in ones first.
#[utoipa::path(
    get, path = "/api/tools", operation_id = "listTools", tag = "tools",
    params(("If-None-Match" = Option<String>, Header, description = "The `ETag` of a list that is known")),
    responses(
        (status = 200, description = "The tools", body = ToolList<'static>),
        (status = 304, description = "The list is the one that is known"),
    ),
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
) -> Result<Response, ProblemResponse> {
    let sent = shared.listing.of(shared.host.catalog().await, &client)?;
    let about = [
        (ETAG, sent.tag.clone()),
        // Clients revalidate the list each time, which the `ETag` makes cheap.
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|known| {
        let mut tags = known.split(',').map(str::trim);
        tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == sent.tag)
    });
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, json(sent.body)).into_response())
}

/// One tool.
#[utoipa::path(
    get, path = "/api/tools/{name}", operation_id = "getTool", tag = "tools",
    params(("name" = String, Path, description = "The tool's name")),
    responses((status = 200, description = "The tool", body = ToolInfo<'static>)),
)]
pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(name): PathText,
) -> Result<Response, ProblemResponse> {
    let catalog = shared.host.catalog().await;
    let mut tools = catalog.tools();
    let named = tools.find(|tool| tool.name == name && client.scope().allows(tool));
    match named {
        Some(tool) => Ok(fresh(bytes(&ToolInfo::from(tool))?)),
        None => Err(ProblemResponse::not_found(format!(
            "Tool not found: {name}"
        ))),
    }
}

/// The tool of this name, which a tool may have.
#[utoipa::path(
    get, path = "/api/tools/reload", operation_id = "getToolNamedReload", tag = "tools",
    responses((status = 200, description = "The tool", body = ToolInfo<'static>)),
)]
pub(super) async fn named_reload(
    state: State<Arc<Shared>>,
    client: Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    one(state, client, PathText("reload".to_owned())).await
}

/// Searches for the tools again. Invalid files are reported and do not stop the others.
#[utoipa::path(
    post, path = "/api/tools/reload", operation_id = "reloadTools", tag = "tools",
    responses((status = 200, description = "What came of it", body = Reloaded<'static>)),
)]
pub(super) async fn reload(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    client.require_user("reload them")?;
    let catalog = shared.host.refresh().await;
    shared.tell_problems(&catalog);
    Ok(fresh(bytes(&Reloaded::from(&*catalog))?))
}
