//! `pi.ui` over the peer: questions are requests to the peer, messages are notifications.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::outgoing::Outgoing;
use super::payload::{self, Answer as Result, read};
use crate::surface::question_view::{AnswerView, FromTool, PromptView};
use haft_tool::{
    Answer, NoticeLevel, Notification, NotificationFrom, Prompt, Question, UserInterface,
};

/// User interface of the peer.
pub(super) struct PeerUi {
    outgoing: Arc<Outgoing>,
    /// The text of the peer's editor, as last reported.
    editor_text: Mutex<String>,
}

/// User interface of a call whose questions the peer does not answer.
pub(super) struct NoUser;

#[async_trait]
impl UserInterface for NoUser {
    fn has_user(&self) -> bool {
        false
    }

    async fn ask(&self, _: Question) -> Answer {
        Answer::Dismissed
    }
}

/// Text of a notification.
#[derive(Serialize)]
#[serde(untagged)]
enum NotificationView<'a> {
    Notify {
        message: &'a str,
        level: NoticeLevel,
    },
    Status {
        key: &'a str,
        /// `null` removes the line.
        text: Option<&'a str>,
    },
    EditorText {
        text: &'a str,
    },
}

#[derive(Deserialize)]
struct EditorText {
    text: String,
}

impl PeerUi {
    pub(super) fn new(outgoing: Arc<Outgoing>) -> Self {
        PeerUi {
            outgoing,
            editor_text: Mutex::default(),
        }
    }

    /// `ui/editorText`: sets the current text of the peer's editor.
    pub(super) fn set_editor_text(&self, params: Option<&RawValue>) -> Result {
        let EditorText { text } = read("ui/editorText", params)?;
        *self.editor_text.lock() = text;
        Ok(payload::null())
    }
}

#[async_trait]
impl UserInterface for PeerUi {
    fn has_user(&self) -> bool {
        self.outgoing.is_open()
    }

    async fn ask(&self, question: Question) -> Answer {
        let method = match &question.what {
            Prompt::Select { .. } => "ui/select",
            Prompt::Confirm { .. } => "ui/confirm",
            Prompt::Input { .. } => "ui/input",
            Prompt::Editor { .. } => "ui/editor",
        };
        let params: FromTool<'_, PromptView<'_>> = (&question).into();
        let answered: Option<AnswerView> = self.outgoing.ask(method, "ui/withdrawn", params).await;
        answered.map_or(Answer::Dismissed, Answer::from)
    }

    fn tell(&self, notice: NotificationFrom) {
        let (method, rest) = match &notice.what {
            Notification::Notify { message, level } => {
                let level = *level;
                ("ui/notify", NotificationView::Notify { message, level })
            }
            Notification::Status { key, text } => {
                let text = text.as_deref();
                ("ui/setStatus", NotificationView::Status { key, text })
            }
            Notification::EditorText { text } => {
                self.editor_text.lock().clone_from(text);
                ("ui/setEditorText", NotificationView::EditorText { text })
            }
        };
        self.outgoing
            .tell(method, FromTool::new(&notice.from, rest));
    }

    fn editor_text(&self) -> String {
        self.editor_text.lock().clone()
    }
}
