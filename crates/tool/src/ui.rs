//! User interface of a surface, as tools use it: prompts, notifications and components (spec omp
//! 5.2).
//!
//! A surface implements [`UserInterface`]; a call uses it through [`User`](super::User).

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::Screen;

/// Interface that shows the questions of tools to the user. Each surface with a user implements it.
/// One instance serves all calls of one `Host::with_ui` handle, including
/// concurrent ones.
///
/// Only [`ask`](Self::ask) is required. By default, everything else is dropped.
#[async_trait]
pub trait UserInterface: Send + Sync {
    /// Returns true if the user can be asked now: the value of `pi.hasUI`. While it is false, no
    /// question and no notification is sent. Must not block.
    fn has_user(&self) -> bool {
        true
    }

    /// Asks the user and waits for the answer without a time limit. The call's deadline is paused
    /// meanwhile.
    ///
    /// The future is dropped, and [`Question::withdrawn`] cancelled, when the answer is not needed
    /// any more. It runs on the runtime on which the call was started. A panic in this function
    /// counts as [`Answer::Dismissed`]. A panic in another function counts as the default value of
    /// its type.
    async fn ask(&self, question: Question) -> Answer;

    /// Shows a notification that needs no answer. Called on the tool's own thread, so it must not
    /// block.
    fn tell(&self, notice: NotificationFrom) {
        drop(notice);
    }

    /// Returns the text that the user has written but not sent. Called on the tool's own thread, so
    /// it must not block.
    fn editor_text(&self) -> String {
        String::new()
    }

    /// Returns the space in which components of tools can be shown now (`pi.ui.custom`). `None`,
    /// the default, means that no component can be shown or created. Called on the tool's own
    /// thread, so it must not block.
    fn canvas(&self) -> Option<WidgetSurface> {
        None
    }

    /// Forwards a request of an MCP server to the program behind this interface: a form with several
    /// fields, a page to open, a question to its model, or one for its folders. `None`, the default:
    /// it does not answer such requests.
    ///
    /// The future is dropped like that of [`ask`](Self::ask).
    async fn forward(&self, request: Forwarded) -> Option<Value> {
        drop(request);
        None
    }

    /// Shows a component and gives it the keyboard until it is done, which [`Widget::painted`]
    /// reports. Returning earlier removes it without a result. The call's deadline is paused
    /// meanwhile.
    ///
    /// The future is dropped, and [`Widget::withdrawn`] cancelled, when the component must be
    /// removed at once. It runs where [`ask`](Self::ask) runs.
    async fn show(&self, widget: Widget) {
        drop(widget);
    }
}

/// Origin of a question, a notification or a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptOrigin {
    /// The call's id; `None` outside a call, for example while a module loads.
    pub call_id: Option<String>,
    /// The tool's name, or the path of a module that is loading.
    pub tool: String,
}

/// A question with all data that a surface needs to show it.
#[derive(Clone, Debug)]
pub struct Question {
    /// The call and the tool that ask.
    pub from: PromptOrigin,
    /// The question in the tool's own words. They may contain control sequences.
    pub what: Prompt,
    /// Time after which the question is withdrawn. Surfaces may show it.
    pub timeout: Option<Duration>,
    /// Cancelled when the answer is not needed any more: the call has ended or was cancelled, the
    /// tool's own signal was aborted, or the timeout passed.
    pub withdrawn: CancellationToken,
}

/// A request of an MCP server that belongs to a call.
#[derive(Clone, Debug)]
pub struct Forwarded {
    /// The call and the tool that it belongs to.
    pub from: PromptOrigin,
    /// The method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: &'static str,
    /// The server's key for the request among those of one answer, if it has one.
    pub key: Option<String>,
    /// The parameters, as MCP defines them.
    pub params: Value,
    /// Cancelled when the answer is not needed any more.
    pub withdrawn: CancellationToken,
}

/// Kind and text of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Prompt {
    /// A choice of one option. The answer is the option's text.
    Select {
        /// The question.
        title: String,
        /// The options, at least one.
        options: Vec<String>,
    },
    /// A yes-or-no question.
    Confirm {
        /// The question.
        title: String,
        /// More about it; may be empty.
        message: String,
    },
    /// A request for a line of text.
    Input {
        /// The question.
        title: String,
        /// An example of an answer.
        placeholder: Option<String>,
    },
    /// A request for a text of any length.
    Editor {
        /// The question.
        title: String,
        /// The initial text.
        prefill: Option<String>,
    },
}

impl Prompt {
    /// Returns true if a JSON value answers the question: a text, true or false, or null, which
    /// dismisses it.
    pub fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) => true,
            (Prompt::Select { options, .. }, Value::String(text)) => options.contains(text),
            (Prompt::Confirm { .. }, value) => value.is_boolean(),
            (Prompt::Input { .. } | Prompt::Editor { .. }, value) => value.is_string(),
            _ => false,
        }
    }
}

/// Answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The chosen option, or the written text.
    Text(String),
    /// Yes, to [`Prompt::Confirm`].
    Yes,
    /// No, to [`Prompt::Confirm`].
    No,
    /// The user dismissed the question, or no user is present.
    Dismissed,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Answer {
        match value {
            Value::String(text) => Answer::Text(text),
            Value::Bool(true) => Answer::Yes,
            Value::Bool(false) => Answer::No,
            _ => Answer::Dismissed,
        }
    }
}

impl From<Answer> for Value {
    fn from(answer: Answer) -> Value {
        match answer {
            Answer::Text(text) => Value::String(text),
            Answer::Yes => Value::Bool(true),
            Answer::No => Value::Bool(false),
            Answer::Dismissed => Value::Null,
        }
    }
}

/// A notification that needs no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationFrom {
    /// The call and the tool that sent it.
    pub from: PromptOrigin,
    /// The notification in the tool's own words. They may contain control sequences.
    pub what: Notification,
}

/// Kind and text of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Notification {
    /// A message.
    Notify {
        /// The message's text.
        message: String,
        /// The severity.
        level: NoticeLevel,
    },
    /// A status line that stays until another one replaces it under the same key.
    Status {
        /// The key of the line.
        key: String,
        /// The line; `None` removes it.
        text: Option<String>,
    },
    /// A text for the user to edit and send.
    EditorText {
        /// The whole text.
        text: String,
    },
}

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words of the original")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// Space in which a surface shows components of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidgetSurface {
    /// Width of a component in columns.
    pub columns: usize,
    /// Height of a component in rows. Rows beyond it may be cut.
    pub rows: usize,
    /// Other capabilities of the screen.
    pub screen: Screen,
}

/// A component to be shown, which gets the keyboard meanwhile. It draws nothing before it knows its
/// size, so send it a [`InputEvent::Size`] with [`Widget::touch`] first.
#[derive(Debug)]
pub struct Widget {
    /// The call and the tool that the component belongs to.
    pub from: PromptOrigin,
    /// Cancelled when the component must be removed: the call has ended or was cancelled, or the
    /// component is done.
    pub withdrawn: CancellationToken,
    painted: watch::Receiver<String>,
    touches: InputSender,
}

/// Sender of input to a [`Widget`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct InputSender(mpsc::UnboundedSender<InputEvent>);

/// Input of a component from its screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum InputEvent {
    /// The new size.
    Size {
        /// Width in columns.
        columns: usize,
        /// Height in rows.
        rows: usize,
    },
    /// One key or one paste, as a terminal sends it: `a`, `\r`, `\x1b[A`, `\x1b[200~text\x1b[201~`.
    Key {
        /// The bytes, as text.
        data: String,
    },
}

/// The tool's end of a [`Widget`].
pub struct WidgetHandle {
    pub painted: watch::Sender<String>,
    pub touches: mpsc::UnboundedReceiver<InputEvent>,
}

impl Widget {
    /// Creates both ends. [`User::show`](super::User::show) sets the call and the tool later.
    pub fn pair() -> (Widget, WidgetHandle) {
        let (painter, painted) = watch::channel(String::new());
        let (sender, touches) = mpsc::unbounded_channel();
        let widget = Widget {
            from: PromptOrigin {
                call_id: None,
                tool: String::new(),
            },
            withdrawn: CancellationToken::new(),
            painted,
            touches: InputSender(sender),
        };
        let puppet = WidgetHandle {
            painted: painter,
            touches,
        };
        (widget, puppet)
    }

    /// Returns the same component with its call and tool.
    pub fn of(self, from: PromptOrigin, withdrawn: CancellationToken) -> Widget {
        Widget {
            from,
            withdrawn,
            ..self
        }
    }

    /// Waits for the component's next picture: its lines, each ended by a newline. `None` when the
    /// component is done.
    ///
    /// The lines are the tool's own. They may contain any control sequences and be too wide;
    /// `haft::render::safe_lines` makes them safe to print.
    pub async fn painted(&mut self) -> Option<String> {
        self.painted.changed().await.ok()?;
        Some(self.painted.borrow_and_update().clone())
    }

    /// Returns a sender for keys.
    pub fn touches(&self) -> InputSender {
        self.touches.clone()
    }

    /// Sends input to the component; see [`InputSender::send`].
    pub fn touch(&self, touch: InputEvent) {
        self.touches.send(touch);
    }
}

impl InputSender {
    /// Sends input to the component. Input for a component that is gone is discarded.
    pub fn send(&self, touch: InputEvent) {
        // Fails only if the component is gone.
        let _ = self.0.send(touch);
    }
}
