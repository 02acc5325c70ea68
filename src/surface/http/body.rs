//! The body of a request as JSON text: bounded in size and in time, and said to be JSON.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use tokio::time::timeout;

use super::fault::Fault;

/// Whoever needs longer for it holds a connection and says nothing.
const LONGEST: Duration = Duration::from_secs(60);

/// The text of a body that is said to be JSON. Empty where there is no body.
pub(crate) struct JsonText(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let says_json = says_json(request.headers());
        let read = timeout(LONGEST, Bytes::from_request(request, state)).await;
        let bytes = match read {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let text = "the body is larger than this server takes";
                return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, text)
                    .hint("serve.body_mb of the configuration says how much"));
            }
            Ok(Err(rejection)) => return Err(Fault::bad_request(rejection.body_text())),
            Err(_) => {
                let text = "the body did not come in time";
                return Err(Fault::new(StatusCode::REQUEST_TIMEOUT, text));
            }
        };
        if bytes.is_empty() {
            return Ok(JsonText(String::new()));
        }
        if !says_json {
            let text = "the body must be JSON";
            return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
                .hint("send it with `Content-Type: application/json`"));
        }
        match String::from_utf8(bytes.into()) {
            Ok(text) => Ok(JsonText(text)),
            Err(_) => Err(Fault::bad_request("the body is not UTF-8")),
        }
    }
}

/// `application/json` or what is built on it; parameters do not matter.
fn says_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = text.unwrap_or_default().split(';').next();
    let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}
