//! `/api/calls`: running and ended calls, and the tests of recorded ones.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::call_dto::CallView;
use super::history::MAX_CALLS;
use super::recorded::RECORD;
use super::response::{bytes, fresh};
use super::state::Shared;
use crate::surface::http::{Client, JsonText, PathText, ProblemResponse};
use crate::tool_test::TestCase;

/// The calls that are known.
#[derive(Serialize, ToSchema)]
pub(super) struct CallList<'a> {
    /// Those that run, then those that ended, the newest first; without what they came to.
    calls: &'a [CallView<'a>],
}

/// Result of a request to stop a call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cancelled<'a> {
    /// The call's id.
    call_id: &'a str,
    /// True if it was running, and has been asked to stop; false if it had ended, and is forgotten.
    cancelled: bool,
}

/// The client's calls that run, and the last that ended: results are kept of at most 1000, for at most an
/// hour. The user sees older calls, too, as far as the log of calls has them.
#[utoipa::path(
    get, path = "/api/calls", operation_id = "listCalls", tag = "calls",
    responses((status = 200, description = "The calls", body = CallList<'static>)),
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    let history = shared.history_for(&client).await;
    let logged = shared
        .host
        .call_log()
        .all(|owner| client.scope().may_see(owner));
    let known: HashSet<&str> = logged.iter().map(|call| call.id.as_str()).collect();
    let ended = logged.iter().filter(|call| call.end().is_some()).count();
    // The calls that are only in the audit log.
    let others = history.iter();
    let others = others.filter(|one| !one.is_ours || !known.contains(one.call.call.as_str()));
    let others = others.take(MAX_CALLS.saturating_sub(ended));
    let views = logged.iter().map(|call| CallView::logged(call, false));
    let views = views.chain(others.map(|one| CallView::recorded(&one.call, false)));
    Ok(fresh(bytes(&CallList {
        calls: &views.collect::<Vec<_>>(),
    })?))
}

/// One call, with what it came to.
#[utoipa::path(
    get, path = "/api/calls/{id}", operation_id = "getCall", tag = "calls",
    params(("id" = String, Path, description = "The call's id")),
    responses((status = 200, description = "The call", body = CallView<'static>)),
)]
pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
) -> Result<Response, ProblemResponse> {
    if let Some(call) = shared.logged(&client, &id) {
        return Ok(fresh(bytes(&CallView::logged(&call, true))?));
    }
    let history = shared.history_for(&client).await;
    match history.iter().find(|one| one.call.call == id) {
        Some(one) => Ok(fresh(bytes(&CallView::recorded(&one.call, true))?)),
        None => Err(unknown(&id)),
    }
}

/// Asks a call to stop that runs, and forgets one that has ended.
#[utoipa::path(
    delete, path = "/api/calls/{id}", operation_id = "cancelCall", tag = "calls",
    params(("id" = String, Path, description = "The call's id")),
    responses(
        (status = 202, description = "It has been asked to stop", body = Cancelled<'static>),
        (status = 200, description = "It had ended, and is forgotten", body = Cancelled<'static>),
    ),
)]
pub(super) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
) -> Result<Response, ProblemResponse> {
    let cancelled = match shared.logged(&client, &id) {
        Some(call) if call.end().is_none() => {
            call.cancellation().cancel();
            true
        }
        Some(call) => {
            shared.host.call_log().forget(&call);
            false
        }
        None => {
            let history = shared.history_for(&client).await;
            if history.iter().all(|one| one.call.call != id) {
                return Err(unknown(&id));
            }
            false
        }
    };
    if !cancelled {
        // The line in the audit log is kept.
        shared.history.forget(&id, client.token_name());
    }
    let status = if cancelled {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    let body = bytes(&Cancelled {
        call_id: &id,
        cancelled,
    })?;
    Ok((status, fresh(body)).into_response())
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
pub(super) async fn test(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
) -> Result<Response, ProblemResponse> {
    client.require_user(RECORD)?;
    let test = recorded_test(&shared, &id)?;
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
pub(super) async fn save_test(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    client.require_user(RECORD)?;
    let request: SaveRequest = if text.trim().is_empty() {
        SaveRequest::default()
    } else {
        serde_json::from_str(&text).map_err(|error| {
            ProblemResponse::new(StatusCode::BAD_REQUEST, format!("the request: {error}"))
        })?
    };
    let test = recorded_test(&shared, &id)?;
    let saving = tokio::task::spawn_blocking(move || test.save(request.name.as_deref(), None));
    let saved = saving
        .await
        .map_err(|error| ProblemResponse::internal(error.to_string()))?;
    let saved = saved.map_err(|error| ProblemResponse::of_error(StatusCode::CONFLICT, &error))?;
    let body = bytes(&SavedTest {
        path: saved.path.display().to_string(),
        name: saved.name,
    })?;
    Ok((StatusCode::CREATED, fresh(body)).into_response())
}

fn recorded_test(shared: &Shared, id: &str) -> Result<TestCase, ProblemResponse> {
    match shared.tests.of(id) {
        Some(Ok(test)) => Ok(test),
        Some(Err(why)) => Err(ProblemResponse::new(StatusCode::CONFLICT, why)),
        None => {
            Err(unknown(id)
                .hint("only recorded calls have a test (`record`), and the last 20 of them"))
        }
    }
}

pub(super) fn unknown(id: &str) -> ProblemResponse {
    ProblemResponse::not_found(format!("there is no call `{id}`"))
        .hint("calls are remembered for an hour, and the last 1000 of them")
}
