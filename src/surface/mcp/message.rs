//! Parses the text of a line or of a request body into messages, or into error responses.
//!
//! A call is parsed here, in one pass and with its arguments unchanged. rmcp parses all other
//! messages.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData,
    Extensions, InputResponses, JsonObject, JsonRpcError, JsonRpcMessage, RequestId,
    RequestMetaObject,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::surface::http::{BodyMemory, Client, Peer, Permit};
use crate::surface::json_rpc::{self, Fault, Message, Messages, Reply, Request};
use haft_tool::CallerScope;
use haft_tool::USER_ID;

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

/// Returns the scope of the client that sent a request.
pub(super) fn scope_of(sender: Option<&Sender>) -> CallerScope {
    sender.map_or_else(CallerScope::user, |sender| sender.client.scope().clone())
}

/// Returns the id that distinguishes the client from others.
pub(super) fn owner(sender: Option<&Sender>) -> &str {
    sender.map_or(USER_ID, |sender| sender.client.id())
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

    /// Returns its metadata.
    pub(super) fn meta(&self) -> Option<&JsonObject> {
        self.meta.as_ref()
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
