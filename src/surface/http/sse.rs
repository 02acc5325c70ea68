//! Server-sent events: converts texts to a stream of frames that proxies do not buffer.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt, stream};
use tokio::time::timeout;

/// Media type of an event stream.
pub(crate) const MEDIA_TYPE: &str = "text/event-stream";

/// Interval of comments that keep a silent connection open in proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Formats one event. `data` is JSON, so its line breaks are only white space.
pub(crate) fn frame(event: &str, id: Option<&str>, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(id) = id {
        text.push_str("id: ");
        text.push_str(id);
        text.push('\n');
    }
    text.push_str("event: ");
    text.push_str(event);
    for line in data.split(['\n', '\r']) {
        text.push_str("\ndata: ");
        text.push_str(line);
    }
    text.push_str("\n\n");
    text.into()
}

/// Returns the response that sends these frames.
pub(crate) fn response(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let alive = stream::unfold(Box::pin(frames), async |mut frames| {
        match timeout(KEEP_ALIVE, frames.next()).await {
            Ok(frame) => frame.map(|frame| (frame, frames)),
            Err(_) => Some((Bytes::from_static(b":\n\n"), frames)),
        }
    });
    let mut response = Body::from_stream(alive.map(Ok::<_, Infallible>)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx and similar proxies read this header.
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    response
}

/// Returns the id of the last event that the client has seen, if it names one.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// Returns true if the client prefers a stream of events to one response: the media type with the
/// higher `q` wins, the first one if equal.
pub(crate) fn is_preferred(headers: &HeaderMap) -> bool {
    let (mut best, mut is_events) = (0.0_f32, false);
    for accepted in headers.get_all(ACCEPT) {
        for range in accepted.to_str().unwrap_or_default().split(',') {
            let mut parts = range.split(';').map(str::trim);
            let is_this = match parts.next().unwrap_or_default() {
                MEDIA_TYPE => true,
                "application/json" | "application/*" | "*/*" => false,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
            let weight = weight.unwrap_or(1.0);
            if weight > best {
                (best, is_events) = (weight, is_this);
            }
        }
    }
    is_events
}
