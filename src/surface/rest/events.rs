//! `GET /api/events`: started and ended calls, changed tools, problems, questions.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::StreamExt;
use serde::Deserialize;

use super::questions;
use super::state::Shared;
use crate::surface::http::{Client, ProblemResponse, QueryOptions, held, sse};

/// Options of a listener.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Options {
    #[serde(default)]
    answers_questions: bool,
}

/// Events of the client's own calls and tools, as server-sent events: `ready` first, then
/// `call.started`, `call.moved`, `call.ended`, `tools.changed` and `problems`; for the user also
/// `rights.changed`, `question.asked`, `question.painted`, `question.closed`, `notice` and `status`. With
/// `Last-Event-ID` those since then, as far as they are still known: `resumed` in `ready` says whether
/// none is lost. A client that reads too slowly gets `missed`.
#[utoipa::path(
    get, path = "/api/events", operation_id = "listen", tag = "server",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was seen"),
        ("answersQuestions" = Option<bool>, Query, description = "While this listener is there, calls whose client cannot be asked ask at `/api/questions`. Only with the server's own token"),
    ),
    responses((status = 200, description = "Events without end", body = String, content_type = "text/event-stream")),
)]
pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    QueryOptions(options): QueryOptions<Options>,
    headers: HeaderMap,
) -> Result<Response, ProblemResponse> {
    let listener = if options.answers_questions {
        client.require_user(questions::ANSWER)?;
        Some(shared.questions.listener())
    } else {
        None
    };
    let permit = client.begin_stream()?;
    let last = sse::last_event_id(&headers);
    let frames = shared.feeds.of(&client).listen(last);
    let frames = frames.take_until(shared.stop.clone().cancelled_owned());
    Ok(held(sse::response(frames), (permit, listener)))
}
