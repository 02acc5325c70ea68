//! One path parameter as text: resolves `%`-escapes, and returns haft's own error if it is not
//! UTF-8.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::problem_response::ProblemResponse;

/// The only parameter of a route's path.
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
