//! Requests from us to the peer, by ids of ours: the questions that are not answered yet.
//!
//! A question is answered once, withdrawn when nobody waits for it any more, and nobody waits for a
//! peer whose messages have ended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::message::{Notification, Question, Reply};
use crate::surface::lines::writer::Writer;

/// The questions that the peer has not answered yet.
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

/// Takes a question back when nobody waits for its answer any more.
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

    /// Asks with `method`; `withdrawal` is the notification that takes it back. `None`: an error, an
    /// answer that cannot be read, or nobody who could answer.
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

    /// Says what needs no answer.
    pub(super) fn tell(&self, method: &'static str, params: impl Serialize) {
        self.writer.send(&Notification::new(method, params));
    }

    /// Hands an answer to whoever waits for it.
    pub(super) fn take(&self, reply: Reply) {
        let id = reply.id.as_deref().map(RawValue::get).unwrap_or_default();
        let Ok(id) = serde_json::from_str::<String>(id) else {
            return;
        };
        let waiting = self.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // The call may have been cancelled meanwhile.
            let _ = waiting.send(reply.result);
        }
    }

    /// The peer will say nothing more.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        open.closed = true;
        // Whoever waits hears it from the dropped sender.
        open.waiting.clear();
    }

    /// Whether the peer can still answer.
    pub(super) fn is_open(&self) -> bool {
        !self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(
        &self,
        withdrawal: &'static str,
    ) -> Option<(Waiting<'_>, oneshot::Receiver<Option<Box<RawValue>>>)> {
        let mut open = self.lock();
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
        if self.questions.lock().waiting.remove(&self.id).is_some() {
            self.questions
                .tell(self.withdrawal, Withdrawn { id: &self.id });
        }
    }
}
