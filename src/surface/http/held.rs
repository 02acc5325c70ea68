//! Response that holds a value until it has been sent.

use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;

/// Returns the response; `what` is dropped together with its body.
pub(crate) fn held<T: Send + 'static>(response: Response, what: T) -> Response {
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let _ = &what;
            chunk
        }))
    })
}
