//! `/api/questions`: lists the open questions, and takes their answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::questions::{ANSWER, ComponentInput};
use super::response::{bytes, fresh};
use super::state::Shared;
use crate::surface::http::{Client, JsonText, PathText, ProblemResponse};

/// The questions without an answer, the oldest first.
#[derive(Serialize, ToSchema)]
pub(super) struct QuestionList {
    #[schema(value_type = Vec<Object>)]
    questions: Vec<Box<RawValue>>,
}

/// An answer that was accepted.
#[derive(Serialize, ToSchema)]
pub(super) struct Answered<'a> {
    /// The question's id.
    id: &'a str,
}

/// The questions of calls that wait for an answer.
#[utoipa::path(
    get, path = "/api/questions", operation_id = "listQuestions", tag = "calls",
    responses((status = 200, description = "The questions", body = QuestionList)),
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    client.require_user(ANSWER)?;
    let questions = shared.questions.all();
    Ok(fresh(bytes(&QuestionList { questions })?))
}

/// Answers a question: with `{"value": …}`, where null dismisses it, or for an approval with
/// `{"decision": "approve"}` or `{"decision": "deny"}`. The first answer counts.
#[utoipa::path(
    post, path = "/api/questions/{id}", operation_id = "answerQuestion", tag = "calls",
    params(("id" = String, Path, description = "The question's id")),
    request_body(content = Object, content_type = "application/json", description = "The answer"),
    responses((status = 200, description = "The answer was accepted", body = Answered<'static>)),
)]
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    client.require_user(ANSWER)?;
    shared.questions.answer(&id, &text)?;
    Ok(fresh(bytes(&Answered { id: &id })?))
}

/// Sends a key to a component of a tool (`"kind": "custom"`), or the size in which it is shown.
#[utoipa::path(
    post, path = "/api/questions/{id}/input", operation_id = "sendInput", tag = "calls",
    params(("id" = String, Path, description = "The question's id")),
    request_body(content = ComponentInput, content_type = "application/json", description = "`{\"key\": …}`, or `{\"columns\": …, \"rows\": …}`"),
    responses((status = 200, description = "The input was sent", body = Answered<'static>)),
)]
pub(super) async fn input(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    client.require_user(ANSWER)?;
    shared.questions.input(&id, &text)?;
    Ok(fresh(bytes(&Answered { id: &id })?))
}
