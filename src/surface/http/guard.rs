//! Guard in front of every router: checks the host name and the origin of the request, sets headers
//! of the response, and catches panics.
//!
//! Clients are identified separately ([`for_clients_only`]), because a page may be shown to a user
//! who has no token yet.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use futures::{FutureExt, StreamExt};

use super::access::{Access, Guest};
use super::body::{BodyBudget, BodyLimits};
use super::client::Client;
use super::problem_response::ProblemResponse;
use super::sse;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// Headers that pages of other servers may send and read, besides those that browsers always allow.
const SENT: &str =
    "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version";
const READ: &str = "mcp-session-id, location, etag, www-authenticate";

/// Path of the health check. It works without a token, but then reveals nothing about tools, calls
/// or the user.
const LIVENESS: &str = "/api/health";

/// Wraps `router` in the guard, and adds the response for unknown paths.
pub(crate) fn guarded(
    router: Router,
    access: Arc<Access>,
    limits: BodyLimits,
    budget: BodyBudget,
) -> Router {
    router
        .fallback(no_route)
        .layer(DefaultBodyLimit::max(limits.bytes))
        .layer(Extension(limits))
        .layer(Extension(budget))
        .layer(from_fn(without_panics))
        .layer(from_fn_with_state(access, guard))
}

/// Restricts `router` to known clients. Requests carry their [`Client`] as an extension.
pub(crate) fn for_clients_only(router: Router, access: Arc<Access>) -> Router {
    router.layer(from_fn_with_state(access, identified))
}

async fn no_route(request: Request) -> ProblemResponse {
    ProblemResponse::not_found(format!("there is nothing at {}", request.uri().path()))
        .hint("/api/openapi.json says what there is")
}

async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let guest = match access.check_host(&request) {
        Ok(()) => access.check_origin(&request),
        Err(problem_response) => Err(problem_response),
    };
    let guest = match guest {
        Ok(guest) => guest,
        Err(problem_response) => return closed(problem_response.into_response(), None),
    };
    let is_preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if guest.is_some() && is_preflight {
        return closed(preflight(), guest);
    }
    closed(next.run(request).await, guest)
}

async fn identified(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    let client = match access.identify(request.headers()) {
        Ok(client) => client,
        Err(problem_response) => {
            let is_nameless = !request.headers().contains_key(AUTHORIZATION);
            let is_get = request.method() == Method::GET;
            return if is_nameless && is_get && request.uri().path() == LIVENESS {
                alive()
            } else {
                problem_response.into_response()
            };
        }
    };
    // The code behind this does not need the token, so it cannot log it either.
    request.headers_mut().remove(AUTHORIZATION);
    request.extensions_mut().insert(Arc::clone(&client));
    tokio::select! {
        response = next.run(request) => bounded(response, client),
        () = client.ended().cancelled() => {
            ProblemResponse::unauthorized("the token has expired or was revoked").into_response()
        }
    }
}

/// Health response for a request without a token.
fn alive() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, r#"{"status":"ok"}"#).into_response()
}

/// Ends a stream when the token of its reader becomes invalid.
fn bounded(response: Response, client: Arc<Client>) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream =
        kind.is_some_and(|kind| kind.as_bytes().starts_with(sse::MEDIA_TYPE.as_bytes()));
    if client.is_user() || !is_stream {
        return response;
    }
    response.map(|body| {
        let ended = client.ended().clone().cancelled_owned();
        Body::from_stream(body.into_data_stream().take_until(ended))
    })
}

/// Converts a panic to an error response, so that it only affects its own request. Also adds the
/// body of a 405 response.
async fn without_panics(request: Request, next: Next) -> Response {
    let target = request.uri().clone();
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = match answered {
        Ok(response) => response,
        Err(_) => {
            return ProblemResponse::internal("a defect of haft: it panicked").into_response();
        }
    };
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    ProblemResponse::method_not_allowed(target.path(), response.headers()).into_response()
}

/// Adds the headers that every response has.
fn closed(mut response: Response, guest: Option<Guest>) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match guest {
        Some(Guest(origin)) => {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.append(VARY, HeaderValue::from_static("origin"));
            let read = HeaderValue::from_static(READ);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, read);
        }
        None => {
            headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        }
    }
    response
}

/// The response to a preflight request of an allowed page of another server.
fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
