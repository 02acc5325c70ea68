//! Parses the text of a line or of a request body into messages, or into error responses.
//!
//! A call is parsed here, in one pass and with its arguments unchanged. rmcp parses all other
//! messages.

use std::borrow::Cow;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, JsonRpcMessage, RequestId,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::surface::mcp::request::WrittenCall;

/// Methods whose parameters rmcp parses. It reports parameters that it does not understand as an
/// unknown method.
const METHODS: [&str; 10] = [
    "initialize",
    "server/discover",
    "logging/setLevel",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "subscriptions/listen",
    "completion/complete",
];

pub(super) const CALL: &str = "tools/call";

/// A call in the form that nearly all clients send, parsed in one pass.
#[derive(Deserialize)]
struct Usual<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    params: WrittenCall,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// A message of a client.
pub(super) enum Said {
    Call(RequestId, WrittenCall),
    Other(Box<ClientJsonRpcMessage>),
}

/// Parses a text. The protocol once allowed batches; each message of a batch is handled separately.
pub(super) fn read(text: &str) -> Vec<Result<Said, JsonRpcError>> {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    if !text.starts_with('[') {
        return vec![one(text)];
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(messages) if messages.is_empty() => {
            let error = ErrorData::invalid_request("the batch is empty", None);
            vec![Err(JsonRpcError::new(None, error))]
        }
        Ok(messages) => messages.into_iter().map(|raw| one(raw.get())).collect(),
        Err(error) => vec![Err(not_json(&error))],
    }
}

fn one(text: &str) -> Result<Said, JsonRpcError> {
    // Other messages, and all errors, are handled below.
    if let Ok(usual) = serde_json::from_str::<Usual<'_>>(text)
        && (usual.jsonrpc, usual.method) == ("2.0", CALL)
    {
        return Ok(Said::Call(usual.id, usual.params));
    }
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return Err(no_message(None, "it is not a JSON-RPC object"));
        }
        Err(error) => return Err(not_json(&error)),
    };
    let id = envelope
        .id
        .map(|raw| serde_json::from_str::<RequestId>(raw.get()));
    let id = match id.transpose() {
        Ok(id) => id,
        Err(_) => {
            return Err(no_message(
                None,
                "`id` is neither a text nor a whole number",
            ));
        }
    };
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return Err(no_message(id, "`jsonrpc` is not \"2.0\""));
    }
    let method = envelope.method.as_deref();
    if let (Some(CALL), Some(id)) = (method, &id) {
        let params = envelope.params.map_or("{}", RawValue::get);
        return serde_json::from_str(params)
            .map(|call| Said::Call(id.clone(), call))
            .map_err(|why| unfit(id.clone(), CALL, &why.to_string()));
    }
    let message = serde_json::from_str::<ClientJsonRpcMessage>(text);
    let message = message.map_err(|error| no_message(id, &error.to_string()))?;
    if let JsonRpcMessage::Request(request) = &message
        && let ClientRequest::CustomRequest(custom) = &request.request
        && METHODS.contains(&custom.method.as_str())
    {
        let why = "a field is missing or of the wrong type";
        return Err(unfit(request.id.clone(), &custom.method, why));
    }
    Ok(Said::Other(Box::new(message)))
}

fn not_json(error: &serde_json::Error) -> JsonRpcError {
    let text = format!("the message is not JSON: {error}");
    JsonRpcError::new(None, ErrorData::parse_error(text, None))
}

fn no_message(id: Option<RequestId>, why: &str) -> JsonRpcError {
    let text = format!("invalid JSON-RPC message: {why}");
    JsonRpcError::new(id, ErrorData::invalid_request(text, None))
}

fn unfit(id: RequestId, method: &str, why: &str) -> JsonRpcError {
    let text = format!("the parameters of `{method}` do not fit: {why}");
    JsonRpcError::new(Some(id), ErrorData::invalid_params(text, None))
}
