//! Elicitation: questions of one call to the user of its client. These are the tool's own
//! questions, and the request for approval of the call.
//!
//! The call runs on its own task and waits for the answer. The code that serves the request takes
//! the questions from the [`Inbox`] and sends them as its protocol version requires. A question is
//! closed when the call does not wait for its answer any more.

mod form;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
#[allow(
    deprecated,
    reason = "sampling and roots are deprecated, but servers use them"
)]
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, ElicitRequest, ElicitRequestParams, ElicitResult,
    InputRequest, InputRequests, InputResponses, ListRootsRequest,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::client;
use haft_nats::{Asked, OpenQuestion, QueuedCall};
use haft_tool::{
    Answer, ApprovalRequest, Approver, Decision, Forwarded, LogLevel, LogLine, LogListener,
    NoticeLevel, Notification, NotificationFrom, Question, RunApprovalRequest, RunDecision,
    UserInterface, ask_user_for_run,
};

/// Sending end of one call's questions.
pub(super) struct Questions {
    sender: mpsc::UnboundedSender<Open>,
    asked: AtomicU64,
    /// Keys of the open questions.
    keys: Mutex<HashSet<String>>,
    /// Requests that the client answers.
    abilities: ClientCapabilities,
    /// Receives messages that need no answer.
    log: Option<Arc<dyn LogListener>>,
}

/// Receiving end of one call's questions.
pub(super) type Inbox = mpsc::UnboundedReceiver<Open>;

/// A question without an answer. If it is dropped, the call continues as if no user could be asked.
pub(super) struct Open {
    /// Identifies it among all questions of its call.
    pub(super) key: String,
    /// The form for the user, or another request of an MCP server behind haft.
    pub(super) request: InputRequest,
    reply: oneshot::Sender<Value>,
}

/// Creates both ends for one call of a client with these abilities.
pub(super) fn channel(
    abilities: ClientCapabilities,
    log: Option<Arc<dyn LogListener>>,
) -> (Questions, Inbox) {
    let (sender, inbox) = mpsc::unbounded_channel();
    let questions = Questions {
        sender,
        asked: AtomicU64::new(0),
        keys: Mutex::default(),
        abilities,
        log,
    };
    (questions, inbox)
}

impl Questions {
    /// Asks the question and waits for the answer. Returns `None` if it could not be asked.
    async fn put(&self, form: Option<ElicitRequestParams>) -> Option<ElicitResult> {
        let form = form.filter(|_| client::can_ask(&self.abilities));
        let request = InputRequest::Elicitation(ElicitRequest::new(form?));
        serde_json::from_value(self.send(request, None).await?).ok()
    }

    /// Sends a request to the client and waits for the answer. The client sees the server's own key of
    /// the request, unless another open request of the call has the same.
    async fn send(&self, request: InputRequest, key: Option<String>) -> Option<Value> {
        let (reply, answer) = oneshot::channel();
        let key = key.filter(|key| self.keys.lock().insert(key.clone()));
        let _taken = key.clone().map(|key| TakenKey(&self.keys, key));
        let key = key.unwrap_or_else(|| {
            let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
            format!("question-{number}")
        });
        let open = Open {
            key,
            request,
            reply,
        };
        self.sender.send(open).ok()?;
        answer.await.ok()
    }
}

/// Returns the request of an MCP server behind haft in the form for a client with these abilities, if
/// the client answers such requests. `tool` is the tool that asks.
#[allow(
    deprecated,
    reason = "sampling and roots are deprecated, but servers use them"
)]
fn request_of(
    abilities: &ClientCapabilities,
    tool: &str,
    method: &str,
    params: Value,
) -> Option<InputRequest> {
    let kinds = abilities.elicitation.as_ref();
    match method {
        "elicitation/create" => {
            let mut form: ElicitRequestParams = serde_json::from_value(params).ok()?;
            match &mut form {
                ElicitRequestParams::FormElicitationParams { message, .. } => {
                    *message = form::from_tool(tool, message).into_string();
                    client::can_ask(abilities).then_some(())?;
                }
                ElicitRequestParams::UrlElicitationParams { message, .. } => {
                    *message = form::from_tool(tool, message).into_string();
                    kinds?.url.as_ref()?;
                }
                _ => return None,
            }
            Some(InputRequest::Elicitation(ElicitRequest::new(form)))
        }
        "sampling/createMessage" => {
            abilities.sampling.as_ref()?;
            let params = serde_json::from_value(params).ok()?;
            Some(InputRequest::CreateMessage(CreateMessageRequest::new(
                params,
            )))
        }
        "roots/list" => {
            abilities.roots.as_ref()?;
            Some(InputRequest::ListRoots(ListRootsRequest::default()))
        }
        _ => None,
    }
}

/// Returns the questions of a queued call for a client with these abilities, by their keys, and the
/// numbers of those that it cannot answer.
pub(super) fn queued(
    call: &QueuedCall,
    abilities: &ClientCapabilities,
) -> (InputRequests, Vec<u64>) {
    let (mut requests, mut unanswerable) = (InputRequests::new(), Vec::new());
    for question in &call.questions {
        let request = match &question.asked {
            Asked::Prompt { prompt, .. } if client::can_ask(abilities) => {
                form::prompt(&call.tool, prompt)
                    .map(|form| InputRequest::Elicitation(ElicitRequest::new(form)))
            }
            Asked::Prompt { .. } => None,
            Asked::Request { method, params, .. } => {
                request_of(abilities, &call.tool, method, params.clone())
            }
        };
        match request {
            Some(request) => drop(requests.insert(queued_key(question), request)),
            None => unanswerable.push(question.id),
        }
    }
    (requests, unanswerable)
}

/// Returns the answers of a client to the questions of a queued call, by their numbers.
pub(super) fn queued_answers(call: &QueuedCall, given: &InputResponses) -> Vec<(u64, Value)> {
    let answers = call.questions.iter().filter_map(|question| {
        let value = given.get(&queued_key(question))?;
        let answer = match &question.asked {
            Asked::Prompt { prompt, .. } => {
                let result = serde_json::from_value(value.clone()).ok()?;
                form::answer(prompt, &result).into()
            }
            Asked::Request { .. } => value.clone(),
        };
        Some((question.id, answer))
    });
    answers.collect()
}

fn queued_key(question: &OpenQuestion) -> String {
    match &question.asked {
        Asked::Request { key: Some(key), .. } => key.clone(),
        _ => format!("question-{}", question.id),
    }
}

/// Guard of the key of an open question.
struct TakenKey<'a>(&'a Mutex<HashSet<String>>, String);

impl Drop for TakenKey<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

impl Open {
    /// Sends the answer to the call.
    pub(super) fn answer(self, result: Value) {
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
        // Only forms are known well enough to ask again after an answer that is none.
        let is_form = matches!(open.request, InputRequest::Elicitation(_));
        let fits = |answer: &&Value| {
            !is_form || serde_json::from_value::<ElicitResult>((*answer).clone()).is_ok()
        };
        match answers.get(&open.key).filter(fits) {
            Some(answer) => open.answer(answer.clone()),
            None if open.is_withdrawn() => {}
            None => rest.push(open),
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
    fn has_user(&self) -> bool {
        client::can_ask(&self.abilities)
    }

    async fn forward(&self, request: Forwarded) -> Option<Value> {
        let tool = &request.from.tool;
        let forwarded = request_of(&self.abilities, tool, request.method, request.params)?;
        self.send(forwarded, request.key).await
    }

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
