//! Plain calls, answered without a way through rmcp's service.
//!
//! What that does for a request (a task of its own, tokens, two channels, several moves of the largest
//! message that there is) takes longer than a small tool. A call that wants to know nothing but what it
//! comes to needs none of it; all others, and everything that is no call, are rmcp's.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::{AbortRegistration, Abortable};
use futures::stream::FuturesUnordered;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, InitializeRequestParams,
    JsonRpcMessage, RequestId, ServerResult,
};

use super::answers::Answers;
use crate::host::Host;
use crate::surface::mcp::call;
use crate::surface::mcp::log::Herald;
use crate::surface::mcp::request::WrittenCall;
use crate::surface::mcp::server::Server;
use crate::tool::Call;

/// The plain calls of one connection.
pub(super) struct Direct {
    server: Server,
    answers: Answers,
    client: Client,
    /// Who calls: what tools log is said to the client.
    host: Host,
    running: FuturesUnordered<Abortable<Running>>,
}

/// Answers, and gives the id.
type Running = Pin<Box<dyn Future<Output = RequestId> + Send>>;

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
        let told = answers.clone();
        let herald = Herald::new(server.clone(), move |line| told.tell(line));
        Direct {
            host: server.host().with_log(Arc::new(herald)),
            server,
            answers,
            client: Client::Other,
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

    /// Starts a call, which `abort` may take back.
    pub(super) fn start(&mut self, id: RequestId, call: WrittenCall, abort: AbortRegistration) {
        let WrittenCall {
            name, arguments, ..
        } = call;
        let arguments = arguments.unwrap_or_else(Call::no_arguments);
        let (server, answers, host) =
            (self.server.clone(), self.answers.clone(), self.host.clone());
        let running: Running = Box::pin(async move {
            let ended = call::plain(&server, &name, arguments, &host).await;
            answers.send(&match ended {
                Ok(result) => {
                    let mut result = ServerResult::CallToolResult(result);
                    result.strip_result_type_for_legacy_peer();
                    JsonRpcMessage::response(result, id.clone())
                }
                Err(error) => JsonRpcMessage::error(error, Some(id.clone())),
            });
            id
        });
        self.running.push(Abortable::new(running, abort));
    }

    /// Waits for the next call to be answered, and gives its id; for ever if there is none.
    pub(super) async fn next(&mut self) -> RequestId {
        while let Some(ended) = self.running.next().await {
            // The others were taken back, and are known no more.
            if let Ok(answered) = ended {
                return answered;
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
