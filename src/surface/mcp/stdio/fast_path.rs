//! Fast path for plain calls, which bypasses rmcp's service.
//!
//! The service spends a task, tokens, two channels and several moves of its largest message type on
//! each request. That takes longer than a small tool. A call that only needs its outcome needs none
//! of it. All other messages go to rmcp.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ClientNotification, ClientRequest,
    InitializeRequestParams, JsonRpcMessage, RequestId,
};

use super::fast_call::Plain;
use super::outbound::Answers;
use crate::host::{CancelHandle, Host};
use crate::surface::mcp::call;
use crate::surface::mcp::client::{self, ClientTraits};
use crate::surface::mcp::log::LogForwarder;
use crate::surface::mcp::request::WrittenCall;
use crate::surface::mcp::server::Server;
use haft_tool::{Call, LogListener};

/// The plain calls of one connection.
pub(super) struct Direct {
    server: Server,
    client: Client,
    traits: ClientTraits,
    /// The host of the calls. It sends what tools log to the client.
    host: Host,
    /// The listener that `host` sends log lines to.
    log: Arc<dyn LogListener>,
    running: FuturesUnordered<Running>,
}

/// A running call.
struct Running {
    id: RequestId,
    call: Plain,
}

/// The result of a call.
pub(super) struct Answered {
    pub(super) id: RequestId,
    /// The cancellation handle of the call. It distinguishes the call from a later one with the
    /// same id.
    pub(super) stopper: CancelHandle,
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
    pub(super) fn new(server: Server, answers: Answers) -> Direct {
        let log_forwarder = LogForwarder::new(server.clone(), move |line| answers.tell(line));
        let log: Arc<dyn LogListener> = Arc::new(log_forwarder);
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

    /// Starts a call and returns its cancellation handle. A cancelled call still returns a result,
    /// which must be ignored.
    pub(super) fn start(&mut self, id: RequestId, call: WrittenCall) -> CancelHandle {
        let WrittenCall {
            name, arguments, ..
        } = call;
        let arguments = arguments.unwrap_or_else(Call::no_arguments);
        let call = Plain::new(
            &self.server,
            self.host.clone(),
            self.log.clone(),
            self.traits,
            name,
            arguments,
        );
        let stopper = call.stopper().clone();
        self.running.push(Running { id, call });
        stopper
    }

    /// Waits for the result of the next call; waits forever if no call runs.
    pub(super) async fn next(&mut self) -> Answered {
        match self.running.next().await {
            Some(answered) => answered,
            None => std::future::pending().await,
        }
    }
}

impl Future for Running {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answered> {
        let ended = ready!(self.call.poll_unpin(cx));
        Poll::Ready(Answered {
            id: self.id.clone(),
            stopper: self.call.stopper().clone(),
            ended,
        })
    }
}

fn introduced(client: &InitializeRequestParams) -> Client {
    let has_sessions = !call::is_new_version(&client.protocol_version);
    if has_sessions && !call::can_ask(&client.capabilities) {
        Client::Introduced
    } else {
        Client::Other
    }
}
