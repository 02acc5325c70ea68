//! `GET /api/openapi.json`: OpenAPI 3.1 document of this API, generated from the routes.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Required, Response as Described};
use utoipa::{Modify, OpenApi};

use super::response::fresh;
use super::state::Shared;
use super::{agent_runs, answers, call, calls, catalog, drawing, events, health, queued, tools};
use crate::surface::http::{ProblemDetails, ProblemResponse, sse};

/// Name of the security scheme of the token.
const BEARER: &str = "bearer";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "haft",
        description = "The tools that haft has found, called over HTTP. Refusals are problem details (RFC 9457)."
    ),
    paths(
        tools::list,
        tools::one,
        tools::named_reload,
        tools::reload,
        catalog::catalog,
        call::call,
        call::run,
        calls::list,
        calls::one,
        calls::cancel,
        drawing::drawing,
        calls::test,
        calls::save_test,
        queued::list,
        queued::one,
        queued::cancel,
        queued::answer,
        answers::list,
        answers::answer,
        answers::input,
        events::events,
        agent_runs::start,
        agent_runs::list,
        agent_runs::one,
        agent_runs::events,
        agent_runs::cancel,
        health::health,
        openapi,
    ),
    components(schemas(ProblemDetails<'static>)),
    tags(
        (name = "tools", description = "What there is"),
        (name = "calls", description = "Running it"),
        (name = "sessions", description = "An agent that runs it"),
        (name = "server", description = "How it goes"),
    ),
    modifiers(&Common),
)]
struct Described31;

/// Modifier that adds the parts common to all operations.
struct Common;

/// This description.
#[utoipa::path(
    get, path = "/api/openapi.json", operation_id = "getOpenApi", tag = "server",
    responses((status = 200, description = "The description", body = Object)),
)]
pub(super) async fn openapi(_: State<Arc<Shared>>) -> Result<Response, ProblemResponse> {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(fresh(text.clone()));
    }
    let text = super::response::bytes(&Described31::openapi())?;
    Ok(fresh(TEXT.get_or_init(|| text).clone()))
}

impl Modify for Common {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let mut problem = Described::new("What is wrong");
        let schema = Ref::from_schema_name("Problem");
        problem.content.insert(
            "application/problem+json".into(),
            RefOr::T(Content::new(Some(schema))),
        );
        for (path, item) in &mut openapi.paths.paths {
            let statuses = refusals(path);
            for operation in operations(item) {
                if let Some(RefOr::T(body)) = &mut operation.request_body
                    && (path.ends_with("/call") || path.ends_with("/test"))
                {
                    // A request without a body is a call without arguments, or a test under its
                    // proposed name.
                    body.required = Some(Required::False);
                }
                for response in operation.responses.responses.values_mut() {
                    if let RefOr::T(response) = response
                        && let Some(RefOr::T(content)) = response.content.get_mut(sse::MEDIA_TYPE)
                    {
                        // A schema would describe the stream as a whole. The descriptions document
                        // the events instead.
                        content.schema = None;
                    }
                }
                for status in statuses {
                    let described = RefOr::T(problem.clone());
                    let responses = &mut operation.responses.responses;
                    responses.entry((*status).into()).or_insert(described);
                }
            }
        }
        let http = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        if let Some(components) = &mut openapi.components {
            components.add_security_scheme(BEARER, SecurityScheme::Http(http));
        }
        // The token is optional here, since this code cannot know if the server requires one.
        let none: [&str; 0] = [];
        openapi.security = Some(vec![
            SecurityRequirement::default(),
            SecurityRequirement::new(BEARER, none),
        ]);
    }
}

/// Returns the error statuses that are expected at a path.
fn refusals(path: &str) -> &'static [&'static str] {
    if path.ends_with("/call") {
        &[
            "400", "401", "403", "404", "408", "409", "413", "415", "422", "429", "502", "503",
            "504", "default",
        ]
    } else if path == "/api/sessions" {
        &[
            "400", "401", "403", "408", "413", "415", "422", "424", "429", "503", "default",
        ]
    } else if path.starts_with("/api/questions/") {
        &[
            "400", "401", "403", "404", "408", "413", "415", "422", "default",
        ]
    } else if path.starts_with("/api/queue") {
        &[
            "400", "401", "403", "404", "408", "413", "415", "422", "429", "502", "503", "504",
            "default",
        ]
    } else if path.ends_with("/test") {
        &[
            "400", "401", "403", "404", "408", "409", "413", "415", "422", "default",
        ]
    } else if path.contains('{') || path.ends_with("/reload") {
        &["400", "401", "403", "404", "default"]
    } else {
        &["400", "401", "403", "default"]
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get, post, delete, ..
    } = item;
    [get, post, delete].into_iter().flatten()
}
