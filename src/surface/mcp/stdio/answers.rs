//! What we say to the client.
#![allow(deprecated, reason = "see `log`")]

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    JsonRpcMessage, LoggingMessageNotification, LoggingMessageNotificationParam, ServerNotification,
};
use rmcp::service::TxJsonRpcMessage;
use serde::Serialize;
use tokio::sync::Notify;

use crate::surface::lines::writer::Writer;

/// All that is said in one turn of the program's loop goes out together at its end: writing costs more
/// than most answers.
#[derive(Clone)]
pub(super) struct Answers {
    writer: Writer,
    said: Arc<Notify>,
}

impl Answers {
    /// Needs a runtime.
    pub(super) fn start(writer: Writer) -> Answers {
        let said = Arc::new(Notify::new());
        let answers = Answers {
            writer: writer.clone(),
            said: said.clone(),
        };
        // A task that is woken runs after those that can already go on.
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

    /// Says what a tool logs.
    pub(super) fn tell(&self, line: LoggingMessageNotificationParam) {
        let line = LoggingMessageNotification::new(line);
        let line = ServerNotification::LoggingMessageNotification(line);
        let line: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::notification(line);
        self.send(&line);
    }
}
