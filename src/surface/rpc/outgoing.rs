//! Requests of haft to the peer, and the registry of those without a reply.
//!
//! A request is answered once, and withdrawn when its caller stops waiting. After the end of the
//! peer's messages all pending requests fail.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::message::{Notification, Question};
use crate::surface::json_rpc::Reply;
use crate::surface::stdio::writer::Writer;

/// Registry of the requests to the peer without a reply.
pub(super) struct Questions {
    open: Mutex<Open>,
    writer: Writer,
}

#[derive(Default)]
struct Open {
    asked: u64,
    closed: bool,
    waiting: HashMap<String, oneshot::Sender<Option<Box<RawValue>>>>,
}

#[derive(Serialize)]
struct Withdrawn<'a> {
    id: &'a str,
}

/// Guard of a pending request. Withdraws the request if it is dropped before the reply.
struct Waiting<'a> {
    questions: &'a Questions,
    id: String,
    withdrawal: &'static str,
}

impl Questions {
    pub(super) fn new(writer: Writer) -> Self {
        Questions {
            open: Mutex::default(),
            writer,
        }
    }

    /// Sends a request with `method` and waits for the reply. `withdrawal` is the notification that
    /// withdraws it. `None`: an error, an invalid reply, or a peer that cannot reply.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        withdrawal: &'static str,
        params: impl Serialize,
    ) -> Option<T> {
        let (waiting, answer) = self.register(withdrawal)?;
        self.writer
            .send(&Question::new(&waiting.id, method, params));
        let result = answer.await.ok()??;
        serde_json::from_str(result.get()).ok()
    }

    /// Sends a notification, which needs no reply.
    pub(super) fn tell(&self, method: &'static str, params: impl Serialize) {
        self.writer.send(&Notification::new(method, params));
    }

    /// Delivers a reply to the waiting request.
    pub(super) fn take(&self, reply: Reply) {
        let id = reply.id.as_deref().map(RawValue::get).unwrap_or_default();
        let Ok(id) = serde_json::from_str::<String>(id) else {
            return;
        };
        let waiting = self.open.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // The call may have been cancelled meanwhile.
            let _ = waiting.send(reply.result);
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
        withdrawal: &'static str,
    ) -> Option<(Waiting<'_>, oneshot::Receiver<Option<Box<RawValue>>>)> {
        let mut open = self.open.lock();
        if open.closed {
            return None;
        }
        open.asked += 1;
        let id = format!("ask-{}", open.asked);
        let (sender, answer) = oneshot::channel();
        open.waiting.insert(id.clone(), sender);
        drop(open);
        let waiting = Waiting {
            questions: self,
            id,
            withdrawal,
        };
        Some((waiting, answer))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self
            .questions
            .open
            .lock()
            .waiting
            .remove(&self.id)
            .is_some()
        {
            self.questions
                .tell(self.withdrawal, Withdrawn { id: &self.id });
        }
    }
}
