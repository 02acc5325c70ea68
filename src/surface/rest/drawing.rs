//! `GET /api/calls/{id}/drawing`: a call and its result as the tool's own renderer draws them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::calls::unknown;
use super::response::{bytes, fresh};
use super::state::Shared;
use crate::surface::http::{Client, PathText, ProblemResponse, QueryOptions};
use crate::surface::wire::ProblemView;
use haft_tool::{Call, Colors, Drawing, RenderOptions, Screen, TerminalText};

/// Limit of the width in columns. The description of the route states it, too.
const MAX_WIDTH: usize = 500;

/// Options of a drawing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Options {
    width: Option<usize>,
    #[serde(default)]
    expanded: bool,
    #[serde(default)]
    is_light: bool,
}

/// A drawing: lines of text with the colours of a terminal (SGR).
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DrawingView<'a> {
    /// The call.
    #[schema(value_type = Vec<String>)]
    call: &'a [TerminalText],
    /// The result, or the newest update; empty if there is none.
    #[schema(value_type = Vec<String>)]
    result: &'a [TerminalText],
    /// True if the tool's own renderers drew any of it; otherwise haft did.
    is_own: bool,
    /// The fault of a renderer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<ProblemView<'a>>,
}

/// Draws a call and its result with the renderers of the tool (`renderCall`, `renderResult`).
#[utoipa::path(
    get, path = "/api/calls/{id}/drawing", operation_id = "drawCall", tag = "calls",
    params(
        ("id" = String, Path, description = "The call's id"),
        ("width" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Columns; 80 without it"),
        ("expanded" = Option<bool>, Query, description = "Draws everything instead of the beginning"),
        ("isLight" = Option<bool>, Query, description = "Colours for a light background"),
    ),
    responses((status = 200, description = "The drawing", body = DrawingView<'static>)),
)]
pub(super) async fn drawing(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    QueryOptions(options): QueryOptions<Options>,
) -> Result<Response, ProblemResponse> {
    let width = options.width.unwrap_or(80);
    if !(1..=MAX_WIDTH).contains(&width) {
        let text = format!("`width` is a number of columns from 1 to {MAX_WIDTH}");
        return Err(ProblemResponse::bad_request(text));
    }
    let record = shared.logged(&client, &id).ok_or_else(|| unknown(&id))?;
    let arguments = record.arguments().ok_or_else(|| {
        ProblemResponse::not_found(format!("the arguments of the call `{id}` are not kept"))
    })?;
    let call = Call {
        id: record.id.clone(),
        tool: record.tool.clone(),
        arguments: arguments.to_owned(),
    };
    let look = RenderOptions {
        expanded: options.expanded,
        is_partial: record.end().is_none(),
        screen: Screen {
            colors: Colors::True,
            is_light: options.is_light,
            ..Screen::PLAIN
        },
        ..RenderOptions::plain(width)
    };
    let result = match record.end() {
        None => record.update(),
        // haft wrote this JSON itself, so it is valid.
        Some(end) if end.was_run => end
            .json
            .as_ref()
            .and_then(|json| serde_json::from_slice::<Box<RawValue>>(json).ok()),
        Some(_) => None,
    };
    let of_call = shared.host.render_call(&call, &look).await?;
    let of_result = match &result {
        Some(result) => Some(shared.host.render_result(&call, result, &look).await?),
        None => None,
    };
    let of_result = of_result.as_ref();
    let is_own = |drawing: &Drawing| drawing.is_own;
    let problem = of_result.and_then(|drawing| drawing.problem.as_ref());
    let problem = problem.or(of_call.problem.as_ref());
    Ok(fresh(bytes(&DrawingView {
        call: &of_call.lines,
        result: of_result
            .map(|drawing| drawing.lines.as_slice())
            .unwrap_or_default(),
        is_own: is_own(&of_call) || of_result.is_some_and(is_own),
        problem: problem.map(ProblemView::from),
    })?))
}
