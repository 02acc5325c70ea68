//! Reads the body of a request as JSON text. The size and the time of each body are limited, and
//! the memory of all bodies together. The media type must be JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::client::{Client, bodies_of, too_many};
use super::problem_response::ProblemResponse;
use haft_config::Serve;

/// Limit of the bytes that are read and dropped from a body that is too large. A client that still
/// writes could not read the error otherwise.
const DRAINED: usize = 64 << 20;

/// Text of a body with a JSON media type, and its share of the memory for bodies. Empty if the
/// request has no body.
pub(crate) struct JsonText(pub(crate) String, pub(crate) BodyMemory);

/// Memory for all bodies that a server receives or processes.
#[derive(Clone)]
pub(crate) struct BodyBudget(Arc<Semaphore>);

/// Share of that memory that one body uses, until this is dropped.
#[derive(Default)]
pub(crate) struct BodyMemory(Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>);

/// Reader of a body, with the limits and the client of the request.
pub(crate) struct BodyReader {
    limits: BodyLimits,
    budget: Arc<Semaphore>,
    client: Arc<Client>,
}

/// Limits of a body's size and of the time to read it.
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
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, _: &S) -> Result<Self, ProblemResponse> {
        let says_json = says_json(request.headers());
        let reader = BodyReader::of(request.extensions())?;
        let (bytes, memory) = reader.read(request.into_body()).await?;
        if bytes.is_empty() {
            return Ok(JsonText(String::new(), memory));
        }
        if !says_json {
            let text = "the body must be JSON";
            return Err(
                ProblemResponse::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
                    .hint("send it with `Content-Type: application/json`"),
            );
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(JsonText(text, memory)),
            Err(_) => Err(ProblemResponse::bad_request("the body is not UTF-8")),
        }
    }
}

impl BodyBudget {
    pub(crate) fn of(serve: &Serve) -> BodyBudget {
        BodyBudget(Arc::new(Semaphore::new(bodies_of(serve))))
    }
}

impl BodyReader {
    /// Returns the limits that the guard set for a request.
    pub(crate) fn of(extensions: &Extensions) -> Result<BodyReader, ProblemResponse> {
        let limits = extensions.get::<BodyLimits>();
        let budget = extensions.get::<BodyBudget>();
        let client = extensions.get::<Arc<Client>>();
        match (limits, budget, client) {
            (Some(limits), Some(BodyBudget(budget)), Some(client)) => Ok(BodyReader {
                limits: *limits,
                budget: Arc::clone(budget),
                client: Arc::clone(client),
            }),
            _ => Err(ProblemResponse::internal("a body without limits")),
        }
    }

    /// Reads a complete body, if it is within the limits.
    pub(crate) async fn read(&self, body: Body) -> Result<(Vec<u8>, BodyMemory), ProblemResponse> {
        let read = timeout(self.limits.time, self.read_all(body)).await;
        read.unwrap_or_else(|_| {
            let text = "the body did not come in time";
            let problem_response = ProblemResponse::new(StatusCode::REQUEST_TIMEOUT, text);
            Err(problem_response
                .hint("serve.body_timeout of the configuration says how long this server waits"))
        })
    }

    async fn read_all(&self, body: Body) -> Result<(Vec<u8>, BodyMemory), ProblemResponse> {
        let limit = self.limits.bytes;
        let mut chunks = body.into_data_stream();
        let (mut bytes, mut seen) = (Vec::new(), 0_usize);
        let mut memory = BodyMemory::default();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| {
                let text = format!("the body cannot be read: {error}");
                ProblemResponse::bad_request(text)
            })?;
            seen = seen.saturating_add(chunk.len());
            if seen <= limit {
                self.take(chunk.len(), &mut memory)?;
                bytes.extend_from_slice(&chunk);
            } else {
                (bytes, memory) = (Vec::new(), BodyMemory::default());
            }
            if seen > limit.saturating_add(DRAINED) {
                break;
            }
        }
        if seen <= limit {
            Ok((bytes, memory))
        } else {
            let text = format!("the body is larger than {} MiB", limit >> 20);
            Err(ProblemResponse::new(StatusCode::PAYLOAD_TOO_LARGE, text)
                .hint("serve.body_mb of the configuration says how much this server takes"))
        }
    }

    /// Adds bytes to a body's share of the memory for bodies.
    fn take(&self, length: usize, memory: &mut BodyMemory) -> Result<(), ProblemResponse> {
        let count = u32::try_from(length).unwrap_or(u32::MAX);
        let own = Arc::clone(self.client.bytes());
        let own = own.try_acquire_many_owned(count).map_err(|_| {
            let text =
                "the requests with this token that are being answered are too large together";
            too_many(text, "wait for an answer before you send more")
        })?;
        let all = Arc::clone(&self.budget);
        let all = all.try_acquire_many_owned(count).map_err(|_| {
            let text = "the requests that are being answered are too large together";
            ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, text)
                .hint("try again; serve.bodies_mb of the configuration is the limit")
                .header(RETRY_AFTER, HeaderValue::from_static("1"))
        })?;
        match &mut memory.0 {
            None => memory.0 = Some((own, all)),
            Some((held, held_of_all)) => {
                held.merge(own);
                held_of_all.merge(all);
            }
        }
        Ok(())
    }
}

/// Returns true for `application/json` and media types based on it. Parameters are ignored.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = text.unwrap_or_default().split(';').next();
    let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}
