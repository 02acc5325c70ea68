//! Requests of haft to the peer, and the registry of those without a reply.
//!
//! A request is answered once; a second reply is ignored. After the end of the peer's messages all
//! pending requests fail.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::message::{Notification, Question};
use crate::surface::json_rpc::Reply;
use crate::surface::stdio::writer::Writer;

/// Registry of the requests to the peer without a reply.
pub(super) struct Outgoing {
    open: Mutex<Open>,
    writer: Writer,
}

#[derive(Default)]
struct Open {
    asked: u64,
    called: u64,
    closed: bool,
    waiting: HashMap<String, oneshot::Sender<Answered>>,
}

/// The result of a request, or the text of an error.
pub(super) type Answered = Result<Box<RawValue>, String>;

#[derive(Serialize)]
struct Withdrawn<'a> {
    id: &'a str,
}

/// An error as far as haft uses it.
#[derive(Deserialize)]
struct ErrorObject {
    message: String,
}

/// A pending request. If it is dropped before the reply, the reply is ignored.
pub(super) struct Pending<'a> {
    outgoing: &'a Outgoing,
    id: String,
    /// Notification that withdraws the request when it is dropped before the reply.
    withdrawal: Option<&'static str>,
    reply: oneshot::Receiver<Answered>,
}

impl Outgoing {
    pub(super) fn new(writer: Writer) -> Self {
        Outgoing {
            open: Mutex::default(),
            writer,
        }
    }

    /// Sends a question with `method` and waits for the reply. `withdrawal` is the notification
    /// that withdraws it. `None`: an error, an invalid reply, or a peer that cannot reply.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        withdrawal: &'static str,
        params: impl Serialize,
    ) -> Option<T> {
        let register = |open: &mut Open| {
            open.asked += 1;
            format!("ask-{}", open.asked)
        };
        let mut pending = self.register(register, Some(withdrawal))?;
        self.writer
            .send(&Question::new(&pending.id, method, params));
        let result = pending.reply().await?.ok()?;
        serde_json::from_str(result.get()).ok()
    }

    /// Sends the request that calls a tool of the peer. `None` if the peer cannot reply.
    pub(super) fn call(&self, params: impl Serialize) -> Option<Pending<'_>> {
        let register = |open: &mut Open| {
            open.called += 1;
            format!("call-{}", open.called)
        };
        let pending = self.register(register, None)?;
        self.writer
            .send(&Question::new(&pending.id, "program/call", params));
        Some(pending)
    }

    /// Sends a notification, which needs no reply.
    pub(super) fn tell(&self, method: &'static str, params: impl Serialize) {
        self.writer.send(&Notification::new(method, params));
    }

    /// Returns the number of bytes that the peer has not read yet.
    pub(super) fn unread(&self) -> usize {
        self.writer.unwritten()
    }

    /// Delivers a reply to the waiting request.
    pub(super) fn take(&self, reply: Reply) {
        let answered = match (reply.result, reply.error) {
            (_, Some(error)) => Err(error_text(&error)),
            (Some(result), None) => Ok(result),
            (None, None) => Err("the reply has neither a result nor an error".to_owned()),
        };
        self.settle(reply.id.as_deref(), answered);
    }

    /// Delivers the reply to the request `id`. A reply to an unknown request is ignored: its caller
    /// may have stopped waiting.
    pub(super) fn settle(&self, id: Option<&RawValue>, answered: Answered) {
        let id = id.map(RawValue::get).unwrap_or_default();
        let Ok(id) = serde_json::from_str::<String>(id) else {
            return;
        };
        let waiting = self.open.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // The call may have been cancelled meanwhile.
            let _ = waiting.send(answered);
        }
    }

    /// Fails all pending requests, because the peer sends no more messages.
    pub(super) fn close(&self) {
        let mut open = self.open.lock();
        open.closed = true;
        // Dropping the senders notifies the waiting tasks.
        open.waiting.clear();
    }

    /// Returns true if the peer can still reply.
    pub(super) fn is_open(&self) -> bool {
        !self.open.lock().closed
    }

    fn register(
        &self,
        next_id: impl FnOnce(&mut Open) -> String,
        withdrawal: Option<&'static str>,
    ) -> Option<Pending<'_>> {
        let mut open = self.open.lock();
        if open.closed {
            return None;
        }
        let id = next_id(&mut open);
        let (sender, reply) = oneshot::channel();
        open.waiting.insert(id.clone(), sender);
        Some(Pending {
            outgoing: self,
            id,
            withdrawal,
            reply,
        })
    }
}

impl Pending<'_> {
    /// Waits for the reply; `None` if the peer sends no more messages. Dropping this future and
    /// calling it again loses nothing.
    pub(super) async fn reply(&mut self) -> Option<Answered> {
        (&mut self.reply).await.ok()
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let waiting = self.outgoing.open.lock().waiting.remove(&self.id);
        if let (Some(_), Some(withdrawal)) = (waiting, self.withdrawal) {
            self.outgoing.tell(withdrawal, Withdrawn { id: &self.id });
        }
    }
}

/// Returns the text of an `error` member.
fn error_text(error: &RawValue) -> String {
    match serde_json::from_str::<ErrorObject>(error.get()) {
        Ok(error) if !error.message.trim().is_empty() => error.message,
        Ok(_) | Err(_) => "the reply is an error without a message".to_owned(),
    }
}
