//! Reads the one message of an HTTP request as on standard input, and prepares the text for rmcp.
//!
//! rmcp parses a body itself again, including the arguments. It would round their numbers and
//! refuse arguments that are nested too deeply for it. So the arguments of a call are kept beside
//! the request, and the text for rmcp leaves out what it cannot read.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{ClientNotification, ErrorCode, JsonRpcError, JsonRpcMessage, RequestId};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::surface::mcp::message::RawArguments;
use crate::surface::mcp::message::{self, CALL, Said};
use haft_tool::json;

/// Depth limit for arguments that rmcp can read. Its own limit is 128 levels, which include the
/// levels around the arguments.
const MAX_DEPTH: usize = 100;

/// Requests of earlier revisions that MCP 2026-07-28 removed.
const REMOVED: [&str; 5] = [
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// A parsed message.
pub(super) struct Incoming {
    /// The text that is passed to rmcp.
    pub(super) text: String,
    /// The method of a request or of a notification.
    pub(super) method: Option<String>,
    /// True for a notification, which has no response.
    pub(super) is_notification: bool,
    /// The arguments of a call, exactly as the client wrote them.
    pub(super) arguments: Option<RawArguments>,
}

/// Parses a body.
///
/// # Errors
/// The error response, if the body is not exactly one message.
pub(super) fn read(body: Vec<u8>) -> Result<Incoming, JsonRpcError> {
    let refused = |error: ErrorData| JsonRpcError::new(None, error);
    let text = String::from_utf8(body)
        .map_err(|_| refused(ErrorData::parse_error("the message is not UTF-8", None)))?;
    let mut read = message::read(&text);
    let is_broken = |one: &Result<Said, JsonRpcError>| match one {
        Ok(_) => false,
        Err(why) => why.error.code == ErrorCode::PARSE_ERROR,
    };
    if text.trim_start().starts_with('[') && !read.iter().all(is_broken) {
        let text = "a request holds one message: batches are not taken";
        return Err(refused(ErrorData::invalid_request(text, None)));
    }
    let one = read.pop().ok_or_else(|| {
        let text = "there is no message";
        refused(ErrorData::parse_error(text, None))
    })?;
    let (method, is_notification, arguments) = match one? {
        Said::Call(_, call) => (Some(CALL.to_owned()), false, call.arguments),
        Said::Other(message) => match *message {
            JsonRpcMessage::Request(request) => {
                (Some(request.request.method().to_owned()), false, None)
            }
            JsonRpcMessage::Notification(notification) => {
                (method_of(&notification.notification), true, None)
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => (None, false, None),
        },
    };
    let is_for_rmcp =
        |raw: &RawValue| raw.get().starts_with('{') && json::depth(raw.get()) <= MAX_DEPTH;
    let text = match &arguments {
        Some(raw) if !is_for_rmcp(raw) => without_arguments(&text)
            .map_err(|error| refused(ErrorData::parse_error(error.to_string(), None)))?,
        _ => text,
    };
    Ok(Incoming {
        text,
        method,
        is_notification,
        arguments: arguments.map(RawArguments),
    })
}

/// Returns the error for a request whose method MCP 2026-07-28 removed. Its parameters are not
/// checked.
pub(super) fn refusal_of_removed(body: &[u8]) -> Option<JsonRpcError> {
    #[derive(Deserialize)]
    struct Head {
        id: RequestId,
        method: String,
    }
    let Head { id, method } = serde_json::from_slice(body).ok()?;
    let is_removed = REMOVED.contains(&method.as_str());
    let error = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.clone(), None);
    is_removed.then(|| JsonRpcError::new(Some(id), error()))
}

fn method_of(notification: &ClientNotification) -> Option<String> {
    let value = serde_json::to_value(notification).ok()?;
    Some(value.get("method")?.as_str()?.to_owned())
}

/// Returns the same message without the arguments of its call.
fn without_arguments(text: &str) -> serde_json::Result<String> {
    type Map<'a> = BTreeMap<String, &'a RawValue>;
    let mut message: Map<'_> = serde_json::from_str(text)?;
    let params = message.get("params").map_or("{}", |raw| raw.get());
    let mut params: Map<'_> = serde_json::from_str(params)?;
    params.remove("arguments");
    let params = to_raw_value(&params)?;
    message.insert("params".to_owned(), &params);
    serde_json::to_string(&message)
}
