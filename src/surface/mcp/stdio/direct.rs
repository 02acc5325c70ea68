//! Plain calls, answered without a way through rmcp's service.
//!
//! What that does for a request (a task of its own, tokens, two channels, several moves of the largest
//! message that there is) takes longer than a small tool. A call that wants to know nothing but what it
//! comes to needs none of it; all others, and everything that is no call, are rmcp's.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequestParams,
    JsonRpcMessage, RequestId, ServerResult,
};
use tokio_util::sync::CancellationToken;

use super::answers::Answers;
use crate::surface::mcp::call;
use crate::surface::mcp::request::WrittenCall;
use crate::surface::mcp::server::Server;
use crate::tool::Call;

/// The plain calls of one connection.
pub(super) struct Direct {
    server: Server,
    answers: Answers,
    client: Client,
    running: FuturesUnordered<Running>,
    cancels: HashMap<RequestId, CancellationToken>,
}

/// Answers, and gives the id; nothing of both if the call was taken back.
type Running = Pin<Box<dyn Future<Output = Option<RequestId>> + Send>>;

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
        Direct {
            server,
            answers,
            client: Client::Other,
            running: FuturesUnordered::new(),
            cancels: HashMap::new(),
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

    /// Starts a call.
    pub(super) fn start(&mut self, id: RequestId, call: WrittenCall) {
        let WrittenCall {
            name, arguments, ..
        } = call;
        let arguments = arguments.unwrap_or_else(Call::no_arguments);
        let cancel = CancellationToken::new();
        self.cancels.insert(id.clone(), cancel.clone());
        let (server, answers) = (self.server.clone(), self.answers.clone());
        self.running.push(Box::pin(async move {
            let ended = call::plain(&server, &name, arguments, &answers, &cancel).await;
            if cancel.is_cancelled() {
                return None;
            }
            answers.send(&match ended {
                Ok(result) => {
                    let mut result = ServerResult::CallToolResult(result);
                    result.strip_result_type_for_legacy_peer();
                    JsonRpcMessage::response(result, id.clone())
                }
                Err(error) => JsonRpcMessage::error(error, Some(id.clone())),
            });
            Some(id)
        }));
    }

    /// Takes a call back, if it is one of these.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        // Its id may be used again at once.
        if let Some(cancel) = self.cancels.remove(id) {
            cancel.cancel();
        }
    }

    /// Waits for the next call to be answered, and gives its id; for ever if there is none.
    pub(super) async fn next(&mut self) -> RequestId {
        while let Some(answered) = self.running.next().await {
            if let Some(id) = answered {
                self.cancels.remove(&id);
                return id;
            }
        }
        std::future::pending().await
    }
}

fn introduced(client: &InitializeRequestParams) -> Client {
    let has_sessions = !call::is_new_version(&client.protocol_version);
    match has_sessions && !call::can_ask(&client.capabilities) {
        true => Client::Introduced,
        false => Client::Other,
    }
}
