//! Bodies of responses: JSON that must not be cached, and the list of tools, which is kept.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde::Serialize;

use super::aynd_dto::ToolList;
use crate::registry::Catalog;
use crate::surface::http::{Client, ProblemResponse};

/// Serializes a value as the body of a response.
pub(super) fn bytes(value: &impl Serialize) -> Result<Bytes, ProblemResponse> {
    match serde_json::to_vec(value) {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => Err(ProblemResponse::internal(format!(
            "a reply is not JSON: {error}"
        ))),
    }
}

/// Returns a response that must not be cached.
pub(super) fn fresh(body: Bytes) -> Response {
    let headers = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, json(body)).into_response()
}

/// Returns a body with its type.
pub(super) fn json(body: Bytes) -> impl IntoResponse {
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind)], body)
}

/// The list as it was last sent. The same catalog gives the same bytes.
#[derive(Default)]
pub(super) struct Listing(Mutex<Option<Sent>>);

#[derive(Clone)]
pub(super) struct Sent {
    catalog: Arc<Catalog>,
    pub(super) body: Bytes,
    pub(super) tag: HeaderValue,
}

impl Listing {
    pub(super) fn of(
        &self,
        catalog: Arc<Catalog>,
        client: &Client,
    ) -> Result<Sent, ProblemResponse> {
        if !client.is_user() {
            return Sent::new(catalog, client);
        }
        let mut last = self.0.lock();
        if let Some(sent) = &*last
            && Arc::ptr_eq(&sent.catalog, &catalog)
        {
            return Ok(sent.clone());
        }
        let sent = Sent::new(catalog, client)?;
        *last = Some(sent.clone());
        Ok(sent)
    }
}

impl Sent {
    fn new(catalog: Arc<Catalog>, client: &Client) -> Result<Sent, ProblemResponse> {
        let body = bytes(&ToolList::of(&catalog, client))?;
        let hash = blake3::hash(&body).to_hex();
        let tag = HeaderValue::from_str(&format!("\"{}\"", &hash[..32]));
        Ok(Sent {
            catalog,
            body,
            tag: tag.map_err(|error| ProblemResponse::internal(error.to_string()))?,
        })
    }
}
