//! Questions of one call to the user behind its client: a tool's own, and whether it may run at all.
//!
//! The call asks on its own task and waits; whoever serves the request takes the questions from the
//! [`Inbox`] and puts them in the way of its era. A question that nobody waits for any more is closed.

mod form;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rmcp::model::{ElicitRequestParams, ElicitResult, InputResponses};
use tokio::sync::{mpsc, oneshot};

use crate::tool::{
    Answer, ApprovalRequest, Approver, Decision, LogLevel, LogLine, LogListener, Notice,
    NoticeLevel, Question, Told, UserInterface,
};

/// Where a call puts its questions.
pub(super) struct Questions {
    sender: mpsc::UnboundedSender<Open>,
    asked: AtomicU64,
    /// Where goes what needs no answer.
    log: Option<Arc<dyn LogListener>>,
}

/// Where they arrive.
pub(super) type Inbox = mpsc::UnboundedReceiver<Open>;

/// A question that has no answer yet. Dropped, it is answered as where nobody can be asked.
pub(super) struct Open {
    /// Names it among all questions of its call.
    pub(super) key: String,
    /// The form for the user.
    pub(super) form: ElicitRequestParams,
    reply: oneshot::Sender<ElicitResult>,
}

/// The two ends for one call.
pub(super) fn channel(log: Option<Arc<dyn LogListener>>) -> (Questions, Inbox) {
    let (sender, inbox) = mpsc::unbounded_channel();
    let asked = AtomicU64::new(0);
    (Questions { sender, asked, log }, inbox)
}

impl Questions {
    /// Asks; `None` if nobody could be asked.
    async fn put(&self, form: Option<ElicitRequestParams>) -> Option<ElicitResult> {
        let (reply, answer) = oneshot::channel();
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let key = format!("question-{number}");
        let form = form?;
        self.sender.send(Open { key, form, reply }).ok()?;
        answer.await.ok()
    }
}

impl Open {
    /// Hands over the answer.
    pub(super) fn answer(self, result: ElicitResult) {
        // The call may have gone on without it.
        let _ = self.reply.send(result);
    }

    /// Whether nobody waits for the answer any more.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.reply.is_closed()
    }

    /// Waits until nobody waits for the answer any more.
    pub(super) async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

/// Answers what is answered; gives the questions that are still open.
pub(super) fn hand_over(open: Vec<Open>, answers: &InputResponses) -> Vec<Open> {
    let mut rest = Vec::new();
    for open in open {
        let answer = answers.get(&open.key).cloned();
        match answer.map(serde_json::from_value) {
            Some(Ok(result)) => open.answer(result),
            Some(Err(_)) | None if open.is_withdrawn() => {}
            Some(Err(_)) | None => rest.push(open),
        }
    }
    rest
}

#[async_trait]
impl Approver for Questions {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        match self.put(form::approval(&request)).await {
            Some(result) => form::decision(&result),
            None => Decision::NobodyToAsk,
        }
    }
}

#[async_trait]
impl UserInterface for Questions {
    async fn ask(&self, question: Question) -> Answer {
        match self.put(form::question(&question)).await {
            Some(result) => form::answer(&question.what, &result),
            None => Answer::Dismissed,
        }
    }

    fn tell(&self, notice: Notice) {
        let Told::Notify { message, level } = notice.what else {
            return;
        };
        if let Some(log) = &self.log {
            log.hear(LogLine {
                level: match level {
                    NoticeLevel::Info => LogLevel::Info,
                    NoticeLevel::Warning => LogLevel::Warn,
                    NoticeLevel::Error => LogLevel::Error,
                },
                tool: notice.from.tool,
                message,
                context: None,
            });
        }
    }
}
