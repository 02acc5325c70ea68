//! JSON-RPC messages of haft: responses, requests and notifications.

use serde::Serialize;
use serde_json::value::RawValue;

use super::rpc_error::RpcError;
use crate::surface::json_rpc::{Fault, Id};

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

    /// Creates the response to a text that is not a message.
    pub(super) fn to_fault(fault: Fault) -> Self {
        let error = if fault.is_syntax {
            RpcError::parse(fault.text)
        } else {
            RpcError::invalid_request(fault.text)
        };
        Response::new(fault.id, Err(error))
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
