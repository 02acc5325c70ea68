//! JSON-RPC messages: parses lines to requests, and builds responses.
//!
//! Nothing here does I/O. Parameters and ids stay raw, so that an id is returned exactly as it was
//! sent, and arguments keep all their digits.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::rpc_error::RpcError;

/// Id of a request, exactly as it was sent.
pub(super) type Id = Box<RawValue>;

/// A parsed line.
pub(super) enum Message {
    /// Only spaces.
    Blank,
    /// Not a JSON-RPC message.
    Bad(RpcError),
    Single(Item),
    Batch(Vec<Item>),
}

/// One message of a line.
pub(super) enum Item {
    Request(Request),
    /// A reply to a request of haft.
    Reply(Reply),
    /// An invalid message, with its id if that could be read.
    Bad(Option<Id>, RpcError),
}

/// A request, or a notification if it has no id.
pub(super) struct Request {
    pub(super) id: Option<Id>,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

/// The peer's reply to a request of haft.
pub(super) struct Reply {
    pub(super) id: Option<Id>,
    /// `None`: the peer replied with an error.
    pub(super) result: Option<Box<RawValue>>,
}

/// A request of haft.
#[derive(Serialize)]
pub(super) struct Question<'a, P> {
    jsonrpc: &'static str,
    id: &'a str,
    method: &'static str,
    params: P,
}

/// The response to a request.
#[derive(Serialize)]
pub(super) struct Response {
    jsonrpc: &'static str,
    id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

/// A message of haft that expects no response.
#[derive(Serialize)]
pub(super) struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

/// The known members of a message; others are ignored.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

impl Response {
    /// Creates the response to the request `id`; `None` if not even the id could be read.
    pub(super) fn new(id: Option<Id>, answer: Result<Box<RawValue>, RpcError>) -> Self {
        let (result, error) = match answer {
            Ok(result) => (Some(result), None),
            Err(rpc_error) => (None, Some(rpc_error)),
        };
        Response {
            jsonrpc: "2.0",
            id,
            result,
            error,
        }
    }
}

impl<'a, P> Question<'a, P> {
    pub(super) fn new(id: &'a str, method: &'static str, params: P) -> Self {
        Question {
            jsonrpc: "2.0",
            id,
            method,
            params,
        }
    }
}

impl<P> Notification<P> {
    pub(super) fn new(method: &'static str, params: P) -> Self {
        Notification {
            jsonrpc: "2.0",
            method,
            params,
        }
    }
}

/// Parses a line.
pub(super) fn parse(line: &str) -> Message {
    if line.trim().is_empty() {
        return Message::Blank;
    }
    let json: &RawValue = match serde_json::from_str(line) {
        Ok(json) => json,
        Err(error) => {
            return Message::Bad(RpcError::parse(format!("the message is not JSON: {error}")));
        }
    };
    if !json.get().starts_with('[') {
        return Message::Single(item(json));
    }
    match serde_json::from_str::<Vec<&RawValue>>(json.get()) {
        Ok(items) if items.is_empty() => {
            Message::Bad(RpcError::invalid_request("the batch is empty"))
        }
        Ok(items) => Message::Batch(items.into_iter().map(item).collect()),
        Err(error) => Message::Bad(RpcError::parse(error.to_string())),
    }
}

fn item(json: &RawValue) -> Item {
    if !json.get().starts_with('{') {
        return Item::Bad(
            None,
            RpcError::invalid_request("a message is a JSON object"),
        );
    }
    let envelope: Envelope = match serde_json::from_str(json.get()) {
        Ok(envelope) => envelope,
        Err(error) => return Item::Bad(None, RpcError::invalid_request(error.to_string())),
    };
    let id = match envelope.id.map(RawValue::get) {
        Some(id) if id.starts_with(['{', '[', 't', 'f']) => {
            let rpc_error = RpcError::invalid_request("`id` is a string, a number or null");
            return Item::Bad(None, rpc_error);
        }
        _ => envelope.id.map(ToOwned::to_owned),
    };
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Item::Bad(id, RpcError::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    let Some(method) = envelope.method else {
        if envelope.result.is_some() || envelope.error.is_some() {
            return Item::Reply(Reply {
                id,
                result: envelope.result.map(ToOwned::to_owned),
            });
        }
        return Item::Bad(id, RpcError::invalid_request("there is no `method`"));
    };
    match serde_json::from_str(method.get()) {
        Ok(method) => Item::Request(Request {
            id,
            method,
            params: envelope.params.map(ToOwned::to_owned),
        }),
        Err(_) => Item::Bad(id, RpcError::invalid_request("`method` is a string")),
    }
}

/// Distinguishes `null` from a missing member: a request with the id `null` expects a response.
fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(member).map(Some)
}
