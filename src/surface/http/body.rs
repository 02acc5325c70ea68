//! The body of a request as JSON text: bounded in size and in time, and said to be JSON.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use futures::StreamExt;
use tokio::time::timeout;

use super::fault::Fault;
use crate::config::Serve;

/// So much of a body that is too large is read and thrown away: a client that still writes would not
/// see why it is refused.
const DRAINED: usize = 64 << 20;

/// The text of a body that is said to be JSON. Empty where there is no body.
pub(crate) struct JsonText(pub(crate) String);

/// How much a body may be, and how long it may take.
#[derive(Clone, Copy)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl BodyLimits {
    pub(crate) fn of(serve: &Serve) -> BodyLimits {
        BodyLimits {
            bytes: (serve.body_mb as usize) << 20,
            time: serve.body_timeout,
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let says_json = says_json(request.headers());
        let limits = request.extensions().get::<BodyLimits>().copied();
        // The guard sets them for every request.
        let limits = limits.ok_or_else(|| Fault::internal("a body without limits"))?;
        let bytes = read_body(request.into_body(), limits).await?;
        if bytes.is_empty() {
            return Ok(JsonText(String::new()));
        }
        if !says_json {
            let text = "the body must be JSON";
            return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
                .hint("send it with `Content-Type: application/json`"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(JsonText(text)),
            Err(_) => Err(Fault::bad_request("the body is not UTF-8")),
        }
    }
}

/// The whole of a body, if it is within the limits.
pub(crate) async fn read_body(body: Body, limits: BodyLimits) -> Result<Vec<u8>, Fault> {
    let read = timeout(limits.time, read(body, limits.bytes)).await;
    read.unwrap_or_else(|_| {
        let text = "the body did not come in time";
        let fault = Fault::new(StatusCode::REQUEST_TIMEOUT, text);
        Err(fault.hint("serve.body_timeout of the configuration says how long this server waits"))
    })
}

async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut seen) = (Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            let text = format!("the body cannot be read: {error}");
            Fault::bad_request(text)
        })?;
        seen = seen.saturating_add(chunk.len());
        if seen <= limit {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = Vec::new();
        }
        if seen > limit.saturating_add(DRAINED) {
            break;
        }
    }
    match seen <= limit {
        true => Ok(bytes),
        false => {
            let text = format!("the body is larger than {} MiB", limit >> 20);
            Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, text)
                .hint("serve.body_mb of the configuration says how much this server takes"))
        }
    }
}

/// `application/json` or what is built on it; parameters do not matter.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = text.unwrap_or_default().split(';').next();
    let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}
