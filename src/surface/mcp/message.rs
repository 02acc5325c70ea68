//! Parses the text of a line or of a request body into messages, or into error responses.
//!
//! A call is parsed here, in one pass and with its arguments unchanged. rmcp parses all other
//! messages.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, JsonRpcMessage, RequestId,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::surface::json_rpc::{self, Fault, Message, Messages, Reply, Request};
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

/// A message of a client.
pub(super) enum Said {
    Call(RequestId, WrittenCall),
    Other(Box<ClientJsonRpcMessage>),
}

/// Parses a text. The protocol once allowed batches; each message of a batch is handled separately.
pub(super) fn read(text: &str) -> Vec<Result<Said, JsonRpcError>> {
    match json_rpc::split(text) {
        Ok(Messages::Blank) => Vec::new(),
        Ok(Messages::Single(text)) => vec![one(text)],
        Ok(Messages::Batch(messages)) => messages.iter().map(|raw| one(raw.get())).collect(),
        Err(fault) => vec![Err(refused(fault))],
    }
}

fn one(text: &str) -> Result<Said, JsonRpcError> {
    // Other messages, and all errors, are handled below.
    if let Ok(usual) = serde_json::from_str::<Usual<'_>>(text)
        && (usual.jsonrpc, usual.method) == ("2.0", CALL)
    {
        return Ok(Said::Call(usual.id, usual.params));
    }
    let message = json_rpc::parse(text).map_err(refused)?;
    let (Message::Request(Request { id, .. }) | Message::Reply(Reply { id, .. })) = &message;
    let id = request_id(id.as_deref())?;
    if let (Message::Request(Request { method, params, .. }), Some(id)) = (&message, &id)
        && method == CALL
    {
        let params = params.as_deref().map(RawValue::get);
        let params = params.filter(|params| *params != "null").unwrap_or("{}");
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

/// Returns the id as MCP allows it. `null` is the same as none.
fn request_id(id: Option<&RawValue>) -> Result<Option<RequestId>, JsonRpcError> {
    let id = id.map_or("null", RawValue::get);
    serde_json::from_str(id)
        .map_err(|_| no_message(None, "`id` is neither a text nor a whole number"))
}

fn refused(fault: Fault) -> JsonRpcError {
    if fault.is_syntax {
        return JsonRpcError::new(None, ErrorData::parse_error(fault.text, None));
    }
    match request_id(fault.id.as_deref()) {
        Ok(id) => no_message(id, &fault.text),
        Err(error) => error,
    }
}

fn no_message(id: Option<RequestId>, why: &str) -> JsonRpcError {
    let text = format!("invalid JSON-RPC message: {why}");
    JsonRpcError::new(id, ErrorData::invalid_request(text, None))
}

fn unfit(id: RequestId, method: &str, why: &str) -> JsonRpcError {
    let text = format!("the parameters of `{method}` do not fit: {why}");
    JsonRpcError::new(Some(id), ErrorData::invalid_params(text, None))
}
