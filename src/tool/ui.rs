//! The person at a surface, as tools see them: what they can be asked and told (spec omp 5.2).
//!
//! Vocabulary only. A surface implements [`UserInterface`]; [`User`](super::User) is what a call is given.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{Canvas, Widget};

/// Puts the questions of tools to a person. Every surface that has one brings its own; it serves all
/// calls of one [`Host::with_ui`](crate::Host::with_ui) handle, and several at the same time.
///
/// Only [`ask`](Self::ask) is required: what a surface cannot show is dropped.
///
/// ```ignore
#[doc = include_str!("../../tests/it/examples/user_interface.rs")]
/// ```
#[async_trait]
pub trait UserInterface: Send + Sync {
    /// Whether somebody can be asked at this moment: what `pi.hasUI` says. Where it is false nothing
    /// is asked or told. Must not block.
    fn has_user(&self) -> bool {
        true
    }

    /// Asks, and waits as long as the person thinks; the call's time stands still meanwhile.
    ///
    /// Dropped, with [`Question::withdrawn`] fired, when nobody waits for the answer any more. Runs on
    /// the runtime of whoever started the call. A panic, here or in another of these functions, counts
    /// as nobody being there.
    async fn ask(&self, question: Question) -> Answer;

    /// Says something that needs no answer. Called on the tool's own thread: must not block.
    fn tell(&self, notice: Notice) {
        drop(notice);
    }

    /// What the person has written and not yet sent. Called on the tool's own thread: must not block.
    fn editor_text(&self) -> String {
        String::new()
    }

    /// Where components of tools can be shown at this moment (`pi.ui.custom`). `None`, as without an
    /// implementation: nowhere, and no component is made. Called on the tool's own thread: must not
    /// block.
    fn canvas(&self) -> Option<Canvas> {
        None
    }

    /// Shows a component, and gives it the keyboard until it is done ([`Widget::painted`] says so).
    /// Returning earlier takes it away without a result. The call's time stands still meanwhile.
    ///
    /// Dropped, with [`Widget::withdrawn`] fired, when the component is to go at once. Runs where
    /// [`ask`](Self::ask) runs.
    async fn show(&self, widget: Widget) {
        drop(widget);
    }
}

/// Who wants something of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The call; `None` for what a tool does outside of any call of its own, as while it loads.
    pub call_id: Option<String>,
    /// The tool's name; of a module that is loading its path.
    pub tool: String,
}

/// One question, and everything that a surface needs to put it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who asks.
    pub from: Speaker,
    /// What is asked. The words are the tool's own: they may hold control sequences.
    pub what: Asked,
    /// After this time the question is withdrawn; surfaces may show it.
    pub timeout: Option<Duration>,
    /// Fires when the answer is not wanted any more: the call has ended or was cancelled, the tool's
    /// own signal fired, or the time was up.
    pub withdrawn: CancellationToken,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Asked {
    /// One of several, which is answered with its text.
    Select {
        /// The question.
        title: String,
        /// What can be chosen, at least one.
        options: Vec<String>,
    },
    /// Yes or no.
    Confirm {
        /// The question.
        title: String,
        /// More about it; may be empty.
        message: String,
    },
    /// A line of text.
    Input {
        /// The question.
        title: String,
        /// An example of an answer.
        placeholder: Option<String>,
    },
    /// Any text.
    Editor {
        /// The question.
        title: String,
        /// What the text is to begin with.
        prefill: Option<String>,
    },
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The option that was chosen, or the text that was written.
    Text(String),
    /// Yes, to [`Asked::Confirm`].
    Yes,
    /// No, to [`Asked::Confirm`].
    No,
    /// The person did not want to answer, or there is none.
    Dismissed,
}

/// Something that needs no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Who says it.
    pub from: Speaker,
    /// What is said. The words are the tool's own: they may hold control sequences.
    pub what: Told,
}

/// What can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Told {
    /// A message.
    Notify {
        /// Its text.
        message: String,
        /// How loud it is.
        level: NoticeLevel,
    },
    /// A line that stays until another one comes under the same key.
    Status {
        /// Names the line.
        key: String,
        /// The line; `None` takes it away.
        text: Option<String>,
    },
    /// The text that the person is to edit and send.
    EditorText {
        /// All of it.
        text: String,
    },
}

/// How loud a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words of the original")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}
