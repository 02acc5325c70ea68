//! Fast path for plain calls, which bypasses rmcp's service.
//!
//! The service spends a task, tokens, two channels and several moves of its largest message type on
//! each request. That takes longer than a small tool. A call that only needs its outcome needs none
//! of it. All other messages go to rmcp.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    InitializeRequestParams, JsonRpcMessage, RequestId,
};

use crate::host::Host;
use crate::surface::mcp::client::{self, ClientTraits};
use crate::surface::mcp::message::WrittenCall;
use crate::surface::mcp::result;
use crate::surface::mcp::server::Server;
use crate::surface::mcp::spans;
use haft_tool::{Call, Cancellation, LogListener};

/// The plain calls of one connection.
pub(super) struct Direct {
    server: Server,
    client: Client,
    traits: ClientTraits,
    /// The host of the calls. It sends what tools log to the client.
    host: Host,
    /// The listener that `host` sends log lines to.
    log: Arc<dyn LogListener>,
    running: FuturesUnordered<BoxFuture<'static, Answered>>,
}

/// The result of a call.
pub(super) struct Answered {
    pub(super) id: RequestId,
    /// The cancellation of the call. It distinguishes the call from a later one with the
    /// same id.
    pub(super) cancellation: Cancellation,
    pub(super) ended: Result<CallToolResult, ErrorData>,
}

/// State of the client's handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    /// No handshake yet, or a client whose calls are not plain: each call has metadata, or the
    /// client can be asked during a call.
    Other,
    /// The client has sent an `initialize` that allows plain calls.
    Introduced,
    /// The handshake is complete.
    Ready,
}

impl Direct {
    /// Creates the fast path of a connection. `log` sends what tools log to the client.
    pub(super) fn new(server: Server, log: Arc<dyn LogListener>) -> Direct {
        Direct {
            host: server.host().with_log(log.clone()),
            log,
            server,
            client: Client::Other,
            traits: ClientTraits::default(),
            running: FuturesUnordered::new(),
        }
    }

    /// Returns true if `call` can take the fast path.
    pub(super) fn takes(&self, call: &WrittenCall) -> bool {
        self.client == Client::Ready && call.is_plain()
    }

    /// Observes the messages that are passed to rmcp.
    pub(super) fn hear(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::InitializeRequest(request) = &request.request {
                    self.client = introduced(&request.params);
                    self.traits = ClientTraits::of(Some(&request.params.client_info));
                    self.host = client::named(self.host.clone(), Some(&request.params.client_info));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if self.client == Client::Introduced
                    && let ClientNotification::InitializedNotification(_) =
                        &notification.notification
                {
                    self.client = Client::Ready;
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Starts a call and returns its cancellation. A cancelled call still returns a result, which
    /// must be ignored.
    pub(super) fn start(&mut self, id: RequestId, call: WrittenCall) -> Cancellation {
        let cancellation = Cancellation::default();
        let host = spans::host_for_plain(self.host.clone(), &id, call.meta());
        let (server, traits) = (self.server.clone(), self.traits);
        let (log, handle) = (self.log.clone(), cancellation.clone());
        self.running.push(Box::pin(async move {
            let ended = run(&server, host, traits, call, &handle, &*log).await;
            Answered {
                id,
                cancellation: handle,
                ended,
            }
        }));
        cancellation
    }

    /// Waits for the result of the next call; waits forever if no call runs.
    pub(super) async fn next(&mut self) -> Answered {
        match self.running.next().await {
            Some(answered) => answered,
            None => std::future::pending().await,
        }
    }
}

/// Runs one plain call, which `cancellation` ends. `log` is the listener of `host`.
async fn run(
    server: &Server,
    host: Host,
    traits: ClientTraits,
    call: WrittenCall,
    cancellation: &Cancellation,
    log: &dyn LogListener,
) -> Result<CallToolResult, ErrorData> {
    let (tool_list, entry) = match server.known_offer(&call.name) {
        Some((tool_list, entry)) => (tool_list, Some(entry)),
        // Boxed, because most calls do not need the room of this future. Some tools appear and
        // disappear.
        None => (
            Box::pin(server.offer_for_call(&call.name, None)).await,
            None,
        ),
    };
    let tool = tool_list.require(&call.name)?;
    let arguments = call.arguments.unwrap_or_else(Call::no_arguments);
    let call = Call {
        id: Server::next_call_id(),
        tool: tool.name.clone(),
        arguments: tool.real_arguments(arguments),
    };
    let host = tool_list.host_for(traits.host_for(host, tool), &tool.name);
    let ended = host.outcome_of(call, entry, cancellation.clone()).await;
    let mut result = result::answer(ended, Some(tool), server.result_form(false), Some(log))?;
    // MCP up to 2025-11 does not have this field.
    result.result_type = None;
    Ok(result)
}

fn introduced(client: &InitializeRequestParams) -> Client {
    let has_sessions = !client::is_new_version(&client.protocol_version);
    if has_sessions && !client::answers(&client.capabilities) {
        Client::Introduced
    } else {
        Client::Other
    }
}
