//! The questions of calls over REST.
//!
//! A call asks here if its request says that the client answers, or if its client cannot be asked and
//! a page that answers questions is open ([`PageUser`]). Every page and program with the user's rights
//! sees the question, and the first answer counts. A question ends with its call.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::StatusCode;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};
use utoipa::ToSchema;

use super::event_ring::Feeds;
use crate::credentials::random_id;
use crate::surface::http::ProblemResponse;
use crate::surface::question_view::{AnswerView, ApprovalView, DecisionView, FromTool, PromptView};
use haft_render::sanitize::safe_lines;
use haft_tool::{
    Answer, ApprovalRequest, Approver, Colors, Decision, InputEvent, InputSender, NoticeLevel,
    Notification, NotificationFrom, Prompt, PromptOrigin, Question, RunApprovalRequest,
    RunDecision, Screen, TerminalText, UserInterface, Widget, WidgetSurface, ask_user_for_run,
};

/// Time in which a page that was closed or reloaded can return before its questions are withdrawn.
const RETURN_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum time between two published drawings of a component.
const PAINT_INTERVAL: Duration = Duration::from_millis(40);
/// Size of components before a page has sent its own.
const COMPONENT_SIZE: (usize, usize) = (80, 24);
/// Limit of the columns and rows of a component.
const MAX_COMPONENT_SIZE: usize = 500;
/// Screen of components: a page shows colours, and neither pictures nor links.
const SCREEN: Screen = Screen {
    colors: Colors::True,
    is_light: false,
    images: None,
    hyperlinks: false,
    ..Screen::PLAIN
};

/// The thing that tokens of limited rights may not do: they would approve their own calls.
pub(super) const ANSWER: &str = "answer their questions";

/// The open questions of one server, and the feeds that report them.
pub(super) struct Questions {
    feeds: Arc<Feeds>,
    open: Mutex<Vec<Open>>,
    /// Number of the listeners at `/api/events` that answer questions.
    listeners: watch::Sender<usize>,
}

/// The people at the open pages, who answer for calls whose client cannot be asked.
pub(super) struct PageUser(pub(super) Arc<Questions>);

/// Counts a listener that answers questions until it is dropped.
pub(super) struct ListenerGuard(Arc<Questions>);

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
    Component(Arc<Component>),
}

/// A component of a tool that the pages show.
struct Component {
    input: InputSender,
    size: Mutex<(usize, usize)>,
}

/// Input of a component: a key, or the size in which it is shown.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum ComponentInput {
    /// A key or a paste, as a terminal sends it.
    Key { key: String },
    /// The new size.
    Size { columns: usize, rows: usize },
}

/// A component as clients see it.
#[derive(Serialize)]
struct ComponentView {
    columns: usize,
    rows: usize,
    /// Lines with the colours of a terminal (SGR).
    lines: Vec<String>,
}

/// A new drawing of a component.
#[derive(Serialize)]
struct Painted<'a> {
    id: &'a str,
    #[serde(flatten)]
    component: ComponentView,
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

/// A status line of a tool; without a text it is removed.
#[derive(Serialize)]
struct StatusView<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl Questions {
    pub(super) fn new(feeds: Arc<Feeds>) -> Questions {
        Questions {
            feeds,
            open: Mutex::default(),
            listeners: watch::Sender::new(0),
        }
    }

    /// Counts a listener that answers questions.
    pub(super) fn listener(self: &Arc<Self>) -> ListenerGuard {
        self.listeners.send_modify(|count| *count += 1);
        ListenerGuard(Arc::clone(self))
    }

    fn has_listeners(&self) -> bool {
        *self.listeners.borrow() > 0
    }

    /// Waits until no listener has answered questions for [`RETURN_TIMEOUT`].
    async fn abandoned(&self) {
        let mut listeners = self.listeners.subscribe();
        // The sender belongs to `self`, so waiting never fails.
        while listeners.wait_for(|count| *count == 0).await.is_ok() {
            let returned = listeners.wait_for(|count| *count > 0);
            if timeout(RETURN_TIMEOUT, returned).await.is_err() {
                return;
            }
        }
    }

    /// Publishes a question and waits for its answer. Dropping the future withdraws the question.
    async fn ask(&self, what: What, rest: impl Serialize) -> Option<Given> {
        let (_open, answer) = self.publish(what, rest)?;
        answer.await.ok()
    }

    /// Publishes a question, which is open until the guard is dropped.
    fn publish(
        &self,
        what: What,
        rest: impl Serialize,
    ) -> Option<(OpenGuard<'_>, oneshot::Receiver<Given>)> {
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
        let guard = OpenGuard {
            questions: self,
            id,
        };
        self.feeds.publish("question.asked", &view);
        Some((guard, answer))
    }

    /// Shows a component until it is done or dismissed.
    async fn show(&self, mut widget: Widget) {
        let component = Arc::new(Component {
            input: widget.touches(),
            size: Mutex::new(COMPONENT_SIZE),
        });
        let (columns, rows) = COMPONENT_SIZE;
        widget.touch(InputEvent::Size { columns, rows });
        let from = widget.from.clone();
        let view = |component: ComponentView| FromTool::new(&from, component);
        let what = What::Component(Arc::clone(&component));
        let Some((open, mut dismissed)) = self.publish(what, view(component.view(""))) else {
            return;
        };
        let withdrawn = widget.withdrawn.clone();
        loop {
            let painted = tokio::select! {
                painted = widget.painted() => painted,
                _ = &mut dismissed => return,
                () = withdrawn.cancelled() => return,
            };
            let Some(painted) = painted else { return };
            open.paint(&component, &painted, &from);
            sleep(PAINT_INTERVAL).await;
        }
    }

    /// Delivers the input in the body of a request to a component.
    pub(super) fn input(&self, id: &str, body: &str) -> Result<(), ProblemResponse> {
        let component = {
            let open = self.open.lock();
            let found = open.iter().find(|one| one.id == id);
            match found.map(|one| one.what.clone()) {
                Some(What::Component(component)) => component,
                Some(_) => {
                    let text = format!("the question `{id}` is not a component");
                    return Err(ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, text));
                }
                None => return Err(unknown(id)),
            }
        };
        let input: ComponentInput = serde_json::from_str(body).map_err(|_| {
            let text = "the body is not input: `{\"key\": …}`, or `{\"columns\": …, \"rows\": …}`";
            ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        })?;
        component.input.send(match input {
            ComponentInput::Key { key } => InputEvent::Key { data: key },
            ComponentInput::Size { columns, rows } => {
                let size = |of: usize| of.clamp(1, MAX_COMPONENT_SIZE);
                let (columns, rows) = (size(columns), size(rows));
                *component.size.lock() = (columns, rows);
                InputEvent::Size { columns, rows }
            }
        });
        Ok(())
    }

    pub(super) fn all(&self) -> Vec<Box<RawValue>> {
        let open = self.open.lock();
        open.iter().map(|one| one.view.clone()).collect()
    }

    /// Delivers the answer in the body of a request. A body that does not answer the question leaves
    /// it open.
    pub(super) fn answer(&self, id: &str, body: &str) -> Result<(), ProblemResponse> {
        let unknown = || unknown(id);
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
    id: String,
}

impl OpenGuard<'_> {
    /// Publishes a drawing of the component.
    fn paint(&self, component: &Component, painted: &str, from: &PromptOrigin) {
        let view = QuestionView {
            id: &self.id,
            kind: "custom",
            rest: FromTool::new(from, component.view(painted)),
        };
        if let Ok(view) = serde_json::value::to_raw_value(&view) {
            let mut open = self.questions.open.lock();
            if let Some(one) = open.iter_mut().find(|one| one.id == self.id) {
                one.view = view;
            }
        }
        let painted = Painted {
            id: &self.id,
            component: component.view(painted),
        };
        self.questions.feeds.publish("question.painted", &painted);
    }
}

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        let mut open = self.questions.open.lock();
        open.retain(|one| one.id != self.id);
        drop(open);
        let closed = Closed { id: &self.id };
        self.questions.feeds.publish("question.closed", &closed);
    }
}

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        self.0.listeners.send_modify(|count| *count -= 1);
    }
}

impl Component {
    fn view(&self, painted: &str) -> ComponentView {
        let (columns, rows) = *self.size.lock();
        let lines = safe_lines(painted, columns, &SCREEN);
        // Of a tall drawing the end is shown, since editors have their cursor there.
        let excess = lines.len().saturating_sub(rows);
        ComponentView {
            columns,
            rows,
            lines: lines
                .into_iter()
                .skip(excess)
                .map(TerminalText::into_string)
                .collect(),
        }
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
            What::Component(_) => "custom",
        }
    }

    /// Reads an answer. Anything that does not fit the question is an error, so that a mistake of a
    /// client does not decide.
    fn read(&self, body: &str) -> Result<Given, ProblemResponse> {
        let wrong = |form: &str| {
            let text = format!("the body does not answer the question: {form}");
            ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        };
        let prompt = match self {
            What::Prompt(prompt) => prompt,
            What::Approval => {
                let form = "`{\"decision\": \"approve\"}` or `{\"decision\": \"deny\"}`";
                let read: Result<DecisionView, _> = serde_json::from_str(body);
                return Ok(Given::Approval(read.map_err(|_| wrong(form))?.into()));
            }
            What::Component(_) => {
                let form = "`{\"value\": null}` removes the component";
                let read: Result<AnswerView, _> = serde_json::from_str(body);
                let is_null = read.is_ok_and(|read| read.value.is_null());
                let dismissed = Given::Prompt(Answer::Dismissed);
                return is_null.then_some(dismissed).ok_or_else(|| wrong(form));
            }
        };
        let form = match prompt {
            Prompt::Select { .. } => "`{\"value\": …}` with one of the options, or null",
            Prompt::Confirm { .. } => "`{\"value\": true}`, false, or null",
            Prompt::Input { .. } | Prompt::Editor { .. } => "`{\"value\": …}` with a text, or null",
        };
        let read: Result<AnswerView, _> = serde_json::from_str(body);
        let read = read.map_err(|_| wrong(form))?;
        if prompt.accepts(&read.value) {
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
        match &notice.what {
            Notification::Notify { message, level } => {
                let level = *level;
                let view = FromTool::new(&notice.from, NoticeView { message, level });
                self.feeds.publish("notice", &view);
            }
            Notification::Status { key, text } => {
                let text = text.as_deref();
                let view = FromTool::new(&notice.from, StatusView { key, text });
                self.feeds.publish("status", &view);
            }
            // Clients have no text that the user edits and sends.
            Notification::EditorText { .. } => {}
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

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        ask_user_for_run(self, &request).await
    }
}

#[async_trait]
impl UserInterface for PageUser {
    fn has_user(&self) -> bool {
        self.0.has_listeners()
    }

    async fn ask(&self, question: Question) -> Answer {
        tokio::select! {
            answer = UserInterface::ask(&*self.0, question) => answer,
            () = self.0.abandoned() => Answer::Dismissed,
        }
    }

    fn tell(&self, notice: NotificationFrom) {
        self.0.tell(notice);
    }

    fn canvas(&self) -> Option<WidgetSurface> {
        let (columns, rows) = COMPONENT_SIZE;
        self.has_user().then_some(WidgetSurface {
            columns,
            rows,
            screen: SCREEN,
        })
    }

    async fn show(&self, widget: Widget) {
        tokio::select! {
            () = self.0.show(widget) => {}
            () = self.0.abandoned() => {}
        }
    }
}

#[async_trait]
impl Approver for PageUser {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        if !self.0.has_listeners() {
            return Decision::NobodyToAsk;
        }
        tokio::select! {
            decision = Approver::ask(&*self.0, request) => decision,
            () = self.0.abandoned() => Decision::NobodyToAsk,
        }
    }

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        ask_user_for_run(self, &request).await
    }
}

fn unknown(id: &str) -> ProblemResponse {
    ProblemResponse::not_found(format!("there is no open question `{id}`"))
        .hint("it was answered elsewhere, or its call has ended")
}
