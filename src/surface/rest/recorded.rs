//! `/api/calls/{id}/test`: the test of a recorded call, to be looked at and to be saved.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::calls::unknown;
use super::state::Shared;
use super::tools::{bytes, fresh};
use crate::host::RunningCall;
use crate::surface::http::{Client, JsonText, PathText, ProblemResponse};
use crate::tool_test::{Recorder, TestCase};
use haft_tool::{Error, Outcome};

/// Limit of the recorded calls whose tests are remembered.
const MAX_TESTS: usize = 20;

/// The tests of the calls that were recorded last.
#[derive(Default)]
pub(super) struct RecordedTests(Mutex<VecDeque<(String, Result<TestCase, String>)>>);

/// A call that is recorded, with the place for its test.
pub(super) struct Recording {
    pub(super) recorder: Recorder,
    pub(super) shared: Arc<Shared>,
}

impl Recording {
    /// Keeps the test of the call, which has ended.
    pub(super) fn end(&self, call: &RunningCall, ended: &Result<Outcome, Error>) {
        let test = self.recorder.finish(ended.as_ref());
        let test = test.map_err(|error| error.message().to_owned());
        let mut tests = self.shared.tests.0.lock();
        let id = &call.record().id;
        tests.retain(|(known, _)| known != id);
        tests.push_back((id.clone(), test));
        if tests.len() > MAX_TESTS {
            tests.pop_front();
        }
    }
}

impl RecordedTests {
    fn of(&self, id: &str) -> Result<TestCase, ProblemResponse> {
        let tests = self.0.lock();
        let found = tests.iter().find(|(known, _)| known == id);
        match found {
            Some((_, Ok(test))) => Ok(test.clone()),
            Some((_, Err(why))) => Err(ProblemResponse::new(StatusCode::CONFLICT, why.clone())),
            None => Err(unknown(id)
                .hint("only recorded calls have a test (`record`), and the last 20 of them")),
        }
    }
}

/// Refuses clients that are not the user.
pub(super) fn check_user(client: &Client) -> Result<(), ProblemResponse> {
    if client.is_user() {
        return Ok(());
    }
    let text = "this token may call tools, not record their calls";
    Err(ProblemResponse::forbidden(text).hint("the server's own token may"))
}

/// The test of a recorded call.
#[derive(Serialize, ToSchema)]
#[schema(as = RecordedTest)]
pub(super) struct TestView {
    /// The file in which `haft test` finds it.
    path: String,
    /// Its name in the file.
    name: String,
    /// The test as its file has it.
    #[schema(value_type = Object)]
    test: Value,
    /// The recorded answers as the cassette has them.
    #[schema(value_type = Vec<Object>)]
    cassette: Value,
    /// Remarks for the person who saves it.
    notes: Vec<String>,
}

/// Options for saving a test.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveRequest {
    /// Its name; one that is taken is refused. Without it the proposed one, with a number if it is
    /// taken.
    name: Option<String>,
}

/// A saved test.
#[derive(Serialize, ToSchema)]
pub(super) struct SavedTest {
    /// The test file.
    path: String,
    /// The name of the test.
    name: String,
}

/// The test of a recorded call, with the answers that its tool got. Only with the server's own token.
#[utoipa::path(
    get, path = "/api/calls/{id}/test", operation_id = "getTestOfCall", tag = "calls",
    params(("id" = String, Path, description = "The call's id")),
    responses((status = 200, description = "The test", body = TestView)),
)]
pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
) -> Result<Response, ProblemResponse> {
    check_user(&client)?;
    let test = shared.tests.of(&id)?;
    let view = TestView {
        path: test.path.display().to_string(),
        test: test.test(&test.name),
        cassette: test.cassette(),
        name: test.name,
        notes: test.notes,
    };
    Ok(fresh(bytes(&view)?))
}

/// Writes the test of a recorded call and its cassette where `haft test` finds them. Nothing that is
/// there is replaced. Only with the server's own token.
#[utoipa::path(
    post, path = "/api/calls/{id}/test", operation_id = "saveTestOfCall", tag = "calls",
    params(("id" = String, Path, description = "The call's id")),
    request_body(content = SaveRequest, content_type = "application/json", description = "How it is saved"),
    responses((status = 201, description = "It is saved", body = SavedTest)),
)]
pub(super) async fn save(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    check_user(&client)?;
    let request: SaveRequest = if text.trim().is_empty() {
        SaveRequest::default()
    } else {
        serde_json::from_str(&text).map_err(|error| {
            ProblemResponse::new(StatusCode::BAD_REQUEST, format!("the request: {error}"))
        })?
    };
    let test = shared.tests.of(&id)?;
    let saving = tokio::task::spawn_blocking(move || test.save(request.name.as_deref(), None));
    let saved = saving
        .await
        .map_err(|error| ProblemResponse::internal(error.to_string()))?;
    let saved = saved.map_err(|error| {
        let problem = ProblemResponse::new(StatusCode::CONFLICT, error.message());
        match error.hint() {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    })?;
    let body = bytes(&SavedTest {
        path: saved.path.display().to_string(),
        name: saved.name,
    })?;
    Ok((StatusCode::CREATED, fresh(body)).into_response())
}
