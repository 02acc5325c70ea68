//! `/api/questions`: the questions of calls over REST, and their answers.
//!
//! A call asks here if its request says that the client answers. Every page and program with the
//! user's rights sees the question, and the first answer counts. A question ends with its call.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use utoipa::ToSchema;

use super::event_ring::Feeds;
use super::state::Shared;
use super::tools::{bytes, fresh};
use crate::credentials::random_id;
use crate::surface::http::{Client, JsonText, PathText, ProblemResponse};
use crate::surface::question_view::{AnswerView, ApprovalView, DecisionView, FromTool, PromptView};
use haft_tool::{
    Answer, ApprovalRequest, Approver, Decision, NoticeLevel, Notification, NotificationFrom,
    Prompt, Question, UserInterface,
};

/// The open questions of one server, and the feeds that report them.
pub(super) struct Questions {
    feeds: Arc<Feeds>,
    open: Mutex<Vec<Open>>,
}

/// A question without an answer.
struct Open {
    id: String,
    what: What,
    view: Box<RawValue>,
    answer: oneshot::Sender<Given>,
}

/// Kind of a question, with what decides about the form of its answer.
#[derive(Clone)]
enum What {
    Prompt(Prompt),
    Approval,
}

/// An answer.
enum Given {
    Prompt(Answer),
    Approval(Decision),
}

/// A question as clients see it. The other fields depend on its kind.
#[derive(Serialize)]
struct QuestionView<'a, T: Serialize> {
    id: &'a str,
    kind: &'static str,
    #[serde(flatten)]
    rest: T,
}

/// The questions without an answer, the oldest first.
#[derive(Serialize, ToSchema)]
pub(super) struct QuestionList {
    #[schema(value_type = Vec<Object>)]
    questions: Vec<Box<RawValue>>,
}

/// An answer that was accepted.
#[derive(Serialize, ToSchema)]
pub(super) struct Answered<'a> {
    /// The question's id.
    id: &'a str,
}

/// The end of a question.
#[derive(Serialize)]
struct Closed<'a> {
    id: &'a str,
}

/// A message of a tool.
#[derive(Serialize)]
struct NoticeView<'a> {
    message: &'a str,
    level: NoticeLevel,
}

impl Questions {
    pub(super) fn new(feeds: Arc<Feeds>) -> Questions {
        Questions {
            feeds,
            open: Mutex::default(),
        }
    }

    /// Publishes a question and waits for its answer. Dropping the future withdraws the question.
    async fn ask(&self, what: What, rest: impl Serialize) -> Option<Given> {
        let id = format!("ask-{}", random_id());
        let view = QuestionView {
            id: &id,
            kind: what.kind(),
            rest,
        };
        let view = serde_json::value::to_raw_value(&view).ok()?;
        let (sender, answer) = oneshot::channel();
        self.open.lock().push(Open {
            id: id.clone(),
            what,
            view: view.clone(),
            answer: sender,
        });
        let _open = OpenGuard {
            questions: self,
            id: &id,
        };
        self.feeds.publish("question.asked", &view);
        answer.await.ok()
    }

    fn all(&self) -> Vec<Box<RawValue>> {
        let open = self.open.lock();
        open.iter().map(|one| one.view.clone()).collect()
    }

    /// Delivers the answer in the body of a request. A body that does not answer the question leaves
    /// it open.
    fn answer(&self, id: &str, body: &str) -> Result<(), ProblemResponse> {
        let unknown = || {
            ProblemResponse::not_found(format!("there is no open question `{id}`"))
                .hint("it was answered elsewhere, or its call has ended")
        };
        let what = {
            let open = self.open.lock();
            let found = open.iter().find(|one| one.id == id);
            found.ok_or_else(unknown)?.what.clone()
        };
        let given = what.read(body)?;
        let open = {
            let mut open = self.open.lock();
            let place = open.iter().position(|one| one.id == id);
            open.remove(place.ok_or_else(unknown)?)
        };
        open.answer.send(given).map_err(|_| unknown())
    }
}

/// Removes the question, whether it was answered or withdrawn.
struct OpenGuard<'a> {
    questions: &'a Questions,
    id: &'a str,
}

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        let mut open = self.questions.open.lock();
        open.retain(|one| one.id != self.id);
        drop(open);
        let closed = Closed { id: self.id };
        self.questions.feeds.publish("question.closed", &closed);
    }
}

impl What {
    fn kind(&self) -> &'static str {
        match self {
            What::Prompt(Prompt::Select { .. }) => "select",
            What::Prompt(Prompt::Confirm { .. }) => "confirm",
            What::Prompt(Prompt::Input { .. }) => "input",
            What::Prompt(Prompt::Editor { .. }) => "editor",
            What::Approval => "approval",
        }
    }

    /// Reads an answer. Anything that does not fit the question is an error, so that a mistake of a
    /// client does not decide.
    fn read(&self, body: &str) -> Result<Given, ProblemResponse> {
        let wrong = |form: &str| {
            let text = format!("the body does not answer the question: {form}");
            ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        };
        let What::Prompt(prompt) = self else {
            let form = "`{\"decision\": \"approve\"}` or `{\"decision\": \"deny\"}`";
            let read: Result<DecisionView, _> = serde_json::from_str(body);
            return Ok(Given::Approval(read.map_err(|_| wrong(form))?.into()));
        };
        let form = match prompt {
            Prompt::Select { .. } => "`{\"value\": …}` with one of the options, or null",
            Prompt::Confirm { .. } => "`{\"value\": true}`, false, or null",
            Prompt::Input { .. } | Prompt::Editor { .. } => "`{\"value\": …}` with a text, or null",
        };
        let read: Result<AnswerView, _> = serde_json::from_str(body);
        let read = read.map_err(|_| wrong(form))?;
        let is_valid = match (prompt, &read.value) {
            (_, Value::Null) => true,
            (Prompt::Select { options, .. }, Value::String(text)) => options.contains(text),
            (Prompt::Confirm { .. }, value) => value.is_boolean(),
            (Prompt::Input { .. } | Prompt::Editor { .. }, value) => value.is_string(),
            _ => false,
        };
        if is_valid {
            Ok(Given::Prompt(read.into()))
        } else {
            Err(wrong(form))
        }
    }
}

#[async_trait]
impl UserInterface for Questions {
    async fn ask(&self, question: Question) -> Answer {
        let view: FromTool<'_, PromptView<'_>> = (&question).into();
        match Questions::ask(self, What::Prompt(question.what.clone()), view).await {
            Some(Given::Prompt(answer)) => answer,
            Some(Given::Approval(_)) | None => Answer::Dismissed,
        }
    }

    fn tell(&self, notice: NotificationFrom) {
        // The page has no status line, and no editor.
        if let Notification::Notify { message, level } = &notice.what {
            let level = *level;
            let view = FromTool::new(&notice.from, NoticeView { message, level });
            self.feeds.publish("notice", &view);
        }
    }
}

#[async_trait]
impl Approver for Questions {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let view = ApprovalView::from(&request);
        match Questions::ask(self, What::Approval, view).await {
            Some(Given::Approval(decision)) => decision,
            Some(Given::Prompt(_)) | None => Decision::NobodyToAsk,
        }
    }
}

/// The questions of calls that wait for an answer.
#[utoipa::path(
    get, path = "/api/questions", operation_id = "listQuestions", tag = "calls",
    responses((status = 200, description = "The questions", body = QuestionList)),
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
) -> Result<Response, ProblemResponse> {
    check_user(&client)?;
    let questions = shared.questions.all();
    Ok(fresh(bytes(&QuestionList { questions })?))
}

/// Answers a question: with `{"value": …}`, where null dismisses it, or for an approval with
/// `{"decision": "approve"}` or `{"decision": "deny"}`. The first answer counts.
#[utoipa::path(
    post, path = "/api/questions/{id}", operation_id = "answerQuestion", tag = "calls",
    params(("id" = String, Path, description = "The question's id")),
    request_body(content = Object, content_type = "application/json", description = "The answer"),
    responses((status = 200, description = "The answer was accepted", body = Answered<'static>)),
)]
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    PathText(id): PathText,
    JsonText(text, _memory): JsonText,
) -> Result<Response, ProblemResponse> {
    check_user(&client)?;
    shared.questions.answer(&id, &text)?;
    Ok(fresh(bytes(&Answered { id: &id })?))
}

/// Refuses clients with a token of limited rights: they must not approve their own calls.
pub(super) fn check_user(client: &Client) -> Result<(), ProblemResponse> {
    if client.is_user() {
        return Ok(());
    }
    Err(
        ProblemResponse::forbidden("this token may call tools, not answer their questions")
            .hint("the server's own token may"),
    )
}
