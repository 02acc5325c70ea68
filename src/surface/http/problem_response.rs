//! Error responses as problem details (RFC 9457), in the same form for every error.
//!
//! Only this module maps kinds of errors to statuses. The match is exhaustive, so a new kind does
//! not compile without a status. `error` repeats `detail`, because aynd's clients read it.

use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use haft_tool::Stopped;
use haft_tool::{Error, ErrorKind};

/// An error response.
#[derive(Debug)]
pub(crate) struct ProblemResponse {
    status: StatusCode,
    detail: String,
    kind: Option<&'static str>,
    hint: Option<String>,
    stopped: Option<Stopped>,
    headers: HeaderMap,
}

/// The body of a refusal (RFC 9457).
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDetails<'a> {
    /// Always `about:blank`: `title` says it, and `kind` tells programs more.
    r#type: &'static str,
    /// The status in words.
    title: &'a str,
    /// The status again.
    status: u16,
    /// The problem, for a person or a model.
    detail: &'a str,
    /// The same as `detail`, for aynd's clients.
    error: &'a str,
    /// Kind of the failure, where haft has a name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// Advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// Why a call was stopped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    stopped: Option<Stopped>,
}

impl ProblemResponse {
    /// Creates an error response with this status. `detail` describes the problem.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> ProblemResponse {
        ProblemResponse {
            status,
            detail: detail.into(),
            kind: None,
            hint: None,
            stopped: None,
            headers: HeaderMap::new(),
        }
    }

    /// The request is malformed (400).
    pub(crate) fn bad_request(detail: impl Into<String>) -> ProblemResponse {
        ProblemResponse::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The client lacks the permission (403).
    pub(crate) fn forbidden(detail: impl Into<String>) -> ProblemResponse {
        ProblemResponse::new(StatusCode::FORBIDDEN, detail)
    }

    /// No resource has this name (404).
    pub(crate) fn not_found(detail: impl Into<String>) -> ProblemResponse {
        ProblemResponse::new(StatusCode::NOT_FOUND, detail)
    }

    /// The request has no valid credentials (401).
    pub(crate) fn unauthorized(detail: impl Into<String>) -> ProblemResponse {
        let challenge = HeaderValue::from_static("Bearer realm=\"haft\"");
        ProblemResponse::new(StatusCode::UNAUTHORIZED, detail).header(WWW_AUTHENTICATE, challenge)
    }

    /// A defect of haft (500).
    pub(crate) fn internal(detail: impl Into<String>) -> ProblemResponse {
        Error::new(ErrorKind::Internal, detail).into()
    }

    /// Creates a problem with the message and the hint of an error, under another status than its own.
    pub(crate) fn of_error(status: StatusCode, error: &Error) -> ProblemResponse {
        ProblemResponse {
            hint: error.hint().map(str::to_owned),
            ..ProblemResponse::new(status, error.message())
        }
    }

    /// Adds a hint for solving the problem.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> ProblemResponse {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> ProblemResponse {
        self.headers.insert(name, value);
        self
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> String {
        let details = ProblemDetails {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            error: &self.detail,
            kind: self.kind,
            hint: self.hint.as_deref(),
            stopped: self.stopped,
        };
        // Strings and numbers can always be serialized.
        serde_json::to_string(&details).unwrap_or_default()
    }

    /// The path exists for other methods (405), which `headers` list.
    pub(super) fn method_not_allowed(path: &str, headers: &HeaderMap) -> ProblemResponse {
        let problem_response = ProblemResponse::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("{path} is not for this method"),
        );
        match headers.get(ALLOW) {
            Some(allowed) => problem_response.header(ALLOW, allowed.clone()),
            None => problem_response,
        }
    }
}

impl From<Error> for ProblemResponse {
    fn from(error: Error) -> ProblemResponse {
        ProblemResponse::from(&error)
    }
}

impl From<&Error> for ProblemResponse {
    fn from(error: &Error) -> ProblemResponse {
        let (status, stopped) = match error.kind() {
            ErrorKind::Usage => (StatusCode::BAD_REQUEST, None),
            ErrorKind::BadArguments => (StatusCode::UNPROCESSABLE_ENTITY, None),
            ErrorKind::NoSuchTool => (StatusCode::NOT_FOUND, None),
            ErrorKind::Untrusted | ErrorKind::Denied => (StatusCode::FORBIDDEN, None),
            ErrorKind::Load => (StatusCode::BAD_GATEWAY, None),
            ErrorKind::Stopped(why) => (status_of_stop(why), Some(why)),
            // The same call may succeed when it is repeated.
            ErrorKind::IsolateLost | ErrorKind::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, None)
            }
            ErrorKind::Limited => (StatusCode::TOO_MANY_REQUESTS, None),
            // It may have had its effects.
            ErrorKind::Lost => (StatusCode::BAD_GATEWAY, None),
            // `Internal`, and any kind without a row here.
            _ => (StatusCode::INTERNAL_SERVER_ERROR, None),
        };
        let mut problem_response = ProblemResponse::new(status, error.message());
        let may_retry = [
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        if may_retry.contains(&status) {
            problem_response = problem_response.header(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        problem_response.kind = Some(error.kind().as_str());
        problem_response.hint = error.hint().map(str::to_owned);
        problem_response.stopped = stopped;
        problem_response
    }
}

fn status_of_stop(why: Stopped) -> StatusCode {
    match why {
        Stopped::Deadline => StatusCode::GATEWAY_TIMEOUT,
        Stopped::Cancelled => StatusCode::CONFLICT,
        Stopped::Discarded => StatusCode::BAD_GATEWAY,
        Stopped::HostShutdown => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.json()).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(self.headers);
        response
    }
}
