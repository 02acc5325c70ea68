//! Parameters of a request's path and query, with haft's own errors.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem_response::ProblemResponse;

/// The only parameter of a route's path as text, with resolved `%`-escapes.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemResponse> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(PathText(text)),
            Err(rejection) => Err(ProblemResponse::bad_request(rejection.body_text())),
        }
    }
}

/// The parameters of the query.
pub(crate) struct QueryOptions<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryOptions<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemResponse> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(options)) => Ok(QueryOptions(options)),
            Err(rejection) => Err(ProblemResponse::bad_request(rejection.body_text())),
        }
    }
}
