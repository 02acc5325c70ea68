//! Asks the peer whether a call may run: requests from us to it, by ids of ours.
//!
//! A question is answered once, withdrawn when its call is cancelled, and nobody waits for a peer
//! whose messages have ended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::message::{Notification, Question, Reply};
use super::writer::Writer;
use crate::tool::{ApprovalRequest, Approver, Decision, Tier};

/// The questions that the peer has not answered yet.
pub(super) struct Questions {
    open: Mutex<Open>,
    writer: Writer,
}

#[derive(Default)]
struct Open {
    asked: u64,
    closed: bool,
    waiting: HashMap<String, oneshot::Sender<Decision>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ask<'a> {
    call_id: &'a str,
    tool: &'a str,
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    arguments: &'a RawValue,
}

#[derive(Serialize)]
struct Withdrawn<'a> {
    id: &'a str,
}

#[derive(Deserialize)]
struct Answered {
    decision: Word,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

/// Takes a question back when nobody waits for its answer any more.
struct Waiting<'a> {
    questions: &'a Questions,
    id: String,
}

impl Questions {
    pub(super) fn new(writer: Writer) -> Self {
        Questions {
            open: Mutex::default(),
            writer,
        }
    }

    /// Hands an answer to whoever waits for it. What is no answer is no consent.
    pub(super) fn take(&self, reply: &Reply) {
        let id = reply.id.as_deref().map(RawValue::get).unwrap_or_default();
        let Ok(id) = serde_json::from_str::<String>(id) else {
            return;
        };
        let Some(waiting) = self.lock().waiting.remove(&id) else {
            return;
        };
        let result = reply.result.as_deref().map(RawValue::get);
        let answered = result.and_then(|text| serde_json::from_str(text).ok());
        let decision = match answered {
            Some(Answered { decision }) => match decision {
                Word::Approve => Decision::Approved,
                Word::Deny => Decision::Denied,
            },
            None => Decision::NobodyToAsk,
        };
        // The call may have been cancelled meanwhile.
        let _ = waiting.send(decision);
    }

    /// The peer will say nothing more.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        open.closed = true;
        // Whoever waits hears it from the dropped sender.
        open.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self) -> Option<(Waiting<'_>, oneshot::Receiver<Decision>)> {
        let mut open = self.lock();
        if open.closed {
            return None;
        }
        open.asked += 1;
        let id = format!("ask-{}", open.asked);
        let (sender, answer) = oneshot::channel();
        open.waiting.insert(id.clone(), sender);
        drop(open);
        let questions = self;
        Some((Waiting { questions, id }, answer))
    }
}

#[async_trait]
impl Approver for Questions {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let Some((waiting, answer)) = self.register() else {
            return Decision::NobodyToAsk;
        };
        let params = Ask {
            call_id: &request.call_id,
            tool: &request.tool,
            tier: request.tier,
            reason: request.reason.as_deref(),
            details: request.details.as_deref(),
            arguments: &request.arguments,
        };
        self.writer
            .send(&Question::new(&waiting.id, "approval/ask", params));
        answer.await.unwrap_or(Decision::NobodyToAsk)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.questions.lock().waiting.remove(&self.id).is_some() {
            let withdrawn = Withdrawn { id: &self.id };
            let notification = Notification::new("approval/withdrawn", withdrawn);
            self.questions.writer.send(&notification);
        }
    }
}
