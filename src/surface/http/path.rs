//! One path parameter as text: resolves `%`-escapes, and returns haft's own error if it is not
//! UTF-8.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::fault::Fault;

/// The only parameter of a route's path.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(PathText(text)),
            Err(rejection) => Err(Fault::bad_request(rejection.body_text())),
        }
    }
}
