//! An answer that holds something until it has been sent.

use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;

/// The response; `what` is dropped with its body.
pub(crate) fn held<T: Send + 'static>(response: Response, what: T) -> Response {
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let _ = &what;
            chunk
        }))
    })
}
