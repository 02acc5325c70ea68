//! The guard before every router: name and origin of the request, headers of the answer, panics.
//!
//! The token is checked apart ([`for_clients_only`]), because a page may be shown to whoever cannot
//! use it yet.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use futures::FutureExt;

use super::access::{Access, Guest};
use super::body::BodyLimits;
use super::fault::Fault;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// What other servers' pages may send and read besides what browsers always let them.
const SENT: &str =
    "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version";
const READ: &str = "mcp-session-id, location, etag, www-authenticate";

/// The whole server: `router` behind the guard, and an answer where it has no route.
pub(crate) fn guarded(router: Router, access: Arc<Access>, limits: BodyLimits) -> Router {
    router
        .fallback(no_route)
        .layer(DefaultBodyLimit::max(limits.bytes))
        .layer(Extension(limits))
        .layer(from_fn(without_panics))
        .layer(from_fn_with_state(access, guard))
}

/// `router` for those who know the token, if there is one.
pub(crate) fn for_clients_only(router: Router, access: Arc<Access>) -> Router {
    match access.wants_token() {
        true => router.layer(from_fn_with_state(access, token)),
        false => router,
    }
}

async fn no_route(request: Request) -> Fault {
    Fault::not_found(format!("there is nothing at {}", request.uri().path()))
        .hint("/api/openapi.json says what there is")
}

async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let guest = match access.check_host(&request) {
        Ok(()) => access.check_origin(request.headers()),
        Err(fault) => Err(fault),
    };
    let guest = match guest {
        Ok(guest) => guest,
        Err(fault) => return closed(fault.into_response(), None),
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

async fn token(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

/// A panic is that request's failure and nobody else's. What has no body yet gets its words here.
async fn without_panics(request: Request, next: Next) -> Response {
    let target = request.uri().clone();
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = match answered {
        Ok(response) => response,
        Err(_) => return Fault::internal("a defect of haft: it panicked").into_response(),
    };
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    Fault::method_not_allowed(target.path(), response.headers()).into_response()
}

/// The headers that every answer has.
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

/// The answer to a browser that asks what a page of a guest may do.
fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
