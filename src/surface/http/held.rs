//! Response that holds a value until it has been sent or abandoned.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Body of a response, with a value that is dropped together with it.
struct Held<T> {
    body: Body,
    _what: T,
}

/// Returns the response; `what` is dropped together with its body.
pub(crate) fn held<T: Send + Unpin + 'static>(response: Response, what: T) -> Response {
    response.map(|body| Body::new(Held { body, _what: what }))
}

impl<T: Unpin> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
