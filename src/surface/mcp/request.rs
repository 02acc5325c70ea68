//! The request of a call, with its arguments as the client wrote them, and its sender.
//!
//! rmcp parses arguments into a map of values, which rounds numbers. So the original text is kept
//! in the extensions of the request, which both transports can set.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, Extensions, InputResponses, JsonObject,
    RequestMetaObject,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::surface::http::{BodyMemory, Client, Peer, Permit};

/// The original text of the arguments.
#[derive(Clone, Debug)]
pub(super) struct RawArguments(pub(super) Box<RawValue>);

/// Sender of a request over HTTP, with the permits that it holds until the response.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) client: Arc<Client>,
    /// For a call: its permit among the client's calls, and its body's share of the memory for
    /// bodies.
    _held: (Option<Arc<Permit>>, Arc<BodyMemory>),
}

impl Sender {
    pub(super) fn new(client: Arc<Client>, permit: Option<Permit>, memory: BodyMemory) -> Sender {
        Sender {
            client,
            _held: (permit.map(Arc::new), Arc::new(memory)),
        }
    }

    /// Returns the sender of the request with these extensions. `None` over standard input and
    /// output, where the user is the only client.
    pub(super) fn of(extensions: &Extensions) -> Option<Sender> {
        extensions.get::<Parts>()?.extensions.get().cloned()
    }
}

/// Returns the address of the connection that the request with these extensions came from.
pub(super) fn peer(extensions: &Extensions) -> Option<&Peer> {
    extensions.get::<Parts>()?.extensions.get()
}

/// Returns the id that distinguishes the client from others.
pub(super) fn owner(sender: Option<&Sender>) -> &str {
    sender.map_or("", |sender| sender.client.id())
}

/// The parameters of `tools/call` as the client wrote them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WrittenCall {
    pub(super) name: String,
    pub(super) arguments: Option<Box<RawValue>>,
    #[serde(rename = "_meta")]
    meta: Option<JsonObject>,
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
}

impl WrittenCall {
    /// Returns true if the client only needs the outcome: no progress token, no protocol metadata,
    /// no answers.
    pub(super) fn is_plain(&self) -> bool {
        let says_more =
            |key: &String| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
        let is_marked = self
            .meta
            .as_ref()
            .is_some_and(|meta| meta.keys().any(says_more));
        !is_marked && self.input_responses.is_none() && self.request_state.is_none()
    }

    /// Converts it to the type of rmcp.
    pub(super) fn into_request(self) -> ClientRequest {
        let mut params = CallToolRequestParams::new(self.name);
        params.input_responses = self.input_responses;
        params.request_state = self.request_state;
        let mut request = CallToolRequest::new(params);
        let meta = RequestMetaObject::from(self.meta.unwrap_or_default());
        request.extensions.insert(meta);
        if let Some(arguments) = self.arguments {
            request.extensions.insert(RawArguments(arguments));
        }
        ClientRequest::CallToolRequest(request)
    }
}

/// Returns the arguments of a call, independent of the transport.
pub(super) fn arguments(
    params: &CallToolRequestParams,
    extensions: &Extensions,
) -> Result<Box<RawValue>, ErrorData> {
    let over_http = || extensions.get::<Parts>()?.extensions.get::<RawArguments>();
    if let Some(RawArguments(raw)) = extensions.get::<RawArguments>().or_else(over_http) {
        return Ok(raw.clone());
    }
    let arguments = params.arguments.clone().unwrap_or_default();
    to_raw_value(&arguments).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
