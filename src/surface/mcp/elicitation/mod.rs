//! Elicitation: questions of one call to the user of its client. These are the tool's own
//! questions, and the request for approval of the call.
//!
//! The call runs on its own task and waits for the answer. The code that serves the request takes
//! the questions from the [`Inbox`] and sends them as its protocol version requires. A question is
//! closed when the call does not wait for its answer any more.

mod form;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rmcp::model::{ElicitRequestParams, ElicitResult, InputResponses};
use tokio::sync::{mpsc, oneshot};

use haft_tool::{
    Answer, ApprovalRequest, Approver, Decision, LogLevel, LogLine, LogListener, NoticeLevel,
    Notification, NotificationFrom, Question, RunApprovalRequest, RunDecision, UserInterface,
    ask_user_for_run,
};

/// Sending end of one call's questions.
pub(super) struct Questions {
    sender: mpsc::UnboundedSender<Open>,
    asked: AtomicU64,
    /// Receives messages that need no answer.
    log: Option<Arc<dyn LogListener>>,
}

/// Receiving end of one call's questions.
pub(super) type Inbox = mpsc::UnboundedReceiver<Open>;

/// A question without an answer. If it is dropped, the call continues as if no user could be asked.
pub(super) struct Open {
    /// Identifies it among all questions of its call.
    pub(super) key: String,
    /// The form for the user.
    pub(super) form: ElicitRequestParams,
    reply: oneshot::Sender<ElicitResult>,
}

/// Creates both ends for one call.
pub(super) fn channel(log: Option<Arc<dyn LogListener>>) -> (Questions, Inbox) {
    let (sender, inbox) = mpsc::unbounded_channel();
    let asked = AtomicU64::new(0);
    (Questions { sender, asked, log }, inbox)
}

impl Questions {
    /// Asks the question and waits for the answer. Returns `None` if it could not be asked.
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
    /// Sends the answer to the call.
    pub(super) fn answer(self, result: ElicitResult) {
        // An error means that the call has continued without the answer.
        let _ = self.reply.send(result);
    }

    /// Returns true if the call does not wait for the answer any more.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.reply.is_closed()
    }

    /// Waits until the call does not wait for the answer any more.
    pub(super) async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

/// Delivers the answers to their questions and returns the questions that are still open.
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

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        ask_user_for_run(self, &request).await
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

    fn tell(&self, notice: NotificationFrom) {
        let Notification::Notify { message, level } = notice.what else {
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
