//! Sends messages to the client.
#![allow(deprecated, reason = "see `log`")]

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    JsonRpcMessage, LoggingMessageNotification, LoggingMessageNotificationParam, ServerNotification,
};
use rmcp::service::TxJsonRpcMessage;
use serde::Serialize;
use tokio::sync::Notify;

use crate::surface::stdio::writer::Writer;

/// Buffers all messages of one turn of the event loop and writes them together, since a write costs
/// more than most responses.
#[derive(Clone)]
pub(super) struct Answers {
    writer: Writer,
    said: Arc<Notify>,
}

impl Answers {
    /// Starts the task that flushes the messages. Needs a runtime.
    pub(super) fn start(writer: Writer) -> Answers {
        let said = Arc::new(Notify::new());
        let answers = Answers {
            writer: writer.clone(),
            said: said.clone(),
        };
        // A task that is woken runs after the tasks that are ready already.
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = said.notified() => writer.flush(),
                    () = writer.closed() => return,
                }
            }
        });
        answers
    }

    pub(super) fn send(&self, message: &impl Serialize) {
        self.writer.put(message);
        self.said.notify_one();
    }

    /// Sends a line that a tool logs.
    pub(super) fn tell(&self, line: LoggingMessageNotificationParam) {
        let line = LoggingMessageNotification::new(line);
        let line = ServerNotification::LoggingMessageNotification(line);
        let line: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::notification(line);
        self.send(&line);
    }
}
