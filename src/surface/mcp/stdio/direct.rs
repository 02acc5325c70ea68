//! Plain calls, answered without a way through rmcp's service.
//!
//! What that does for a request (a task of its own, tokens, two channels, several moves of the largest
//! message that there is) takes longer than a small tool. A call that wants to know nothing but what it
//! comes to needs none of it; all others, and everything that is no call, are rmcp's.

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

use super::answers::Answers;
use super::plain::Plain;
use crate::host::{Host, Stopper};
use crate::surface::mcp::call;
use crate::surface::mcp::client::{self, ClientTraits};
use crate::surface::mcp::log::Herald;
use crate::surface::mcp::request::WrittenCall;
use crate::surface::mcp::server::Server;
use crate::tool::{Call, LogListener};

/// The plain calls of one connection.
pub(super) struct Direct {
    server: Server,
    client: Client,
    traits: ClientTraits,
    /// Who calls: what tools log is said to the client.
    host: Host,
    /// Where `host` says it.
    log: Arc<dyn LogListener>,
    running: FuturesUnordered<Running>,
}

/// A call on its way.
struct Running {
    id: RequestId,
    call: Plain,
}

/// What a call came to.
pub(super) struct Answered {
    pub(super) id: RequestId,
    /// What would have ended it, which tells it from a later call with its id.
    pub(super) stopper: Stopper,
    pub(super) ended: Result<CallToolResult, ErrorData>,
}

/// What is known of whoever calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    /// Nothing, or that its calls are not plain: it says more with each, or may be asked meanwhile.
    Other,
    /// It has introduced itself as one whose calls are plain.
    Introduced,
    /// It may call.
    Ready,
}

impl Direct {
    pub(super) fn new(server: Server, answers: Answers) -> Direct {
        let herald = Herald::new(server.clone(), move |line| answers.tell(line));
        let log: Arc<dyn LogListener> = Arc::new(herald);
        Direct {
            host: server.host().with_log(log.clone()),
            log,
            server,
            client: Client::Other,
            traits: ClientTraits::default(),
            running: FuturesUnordered::new(),
        }
    }

    /// Whether `call` may come here.
    pub(super) fn takes(&self, call: &WrittenCall) -> bool {
        self.client == Client::Ready && call.is_plain()
    }

    /// Hears what is said to rmcp.
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

    /// Starts a call; gives what ends it. Nobody waits for its answer then, but it comes.
    pub(super) fn start(&mut self, id: RequestId, call: WrittenCall) -> Stopper {
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

    /// Waits for what the next call comes to; for ever if there is none.
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
    match has_sessions && !call::can_ask(&client.capabilities) {
        true => Client::Introduced,
        false => Client::Other,
    }
}
