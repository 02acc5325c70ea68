//! `pi.ui` over the peer: questions are requests to the peer, messages are notifications.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::outgoing::Outgoing;
use super::payload::{self, Answer as Result, read};
use haft_tool::{
    Answer, NoticeLevel, Notification, NotificationFrom, Prompt, PromptOrigin, Question,
    UserInterface,
};

/// User interface of the peer.
pub(super) struct PeerUi {
    outgoing: Arc<Outgoing>,
    /// The text of the peer's editor, as last reported.
    editor_text: Mutex<String>,
}

/// Parameters of a request or a notification to the peer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a, T: Serialize> {
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
    tool: &'a str,
    #[serde(flatten)]
    rest: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Rest<'a> {
    Select {
        title: &'a str,
        options: &'a [String],
    },
    Confirm {
        title: &'a str,
        message: &'a str,
    },
    Input {
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<&'a str>,
    },
    Editor {
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<&'a str>,
    },
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
struct Answered {
    #[serde(default)]
    value: Value,
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

fn params<'a>(
    from: &'a PromptOrigin,
    rest: Rest<'a>,
    timeout_ms: Option<u64>,
) -> Params<'a, Rest<'a>> {
    Params {
        call_id: from.call_id.as_deref(),
        tool: &from.tool,
        rest,
        timeout_ms,
    }
}

#[async_trait]
impl UserInterface for PeerUi {
    fn has_user(&self) -> bool {
        self.outgoing.is_open()
    }

    async fn ask(&self, question: Question) -> Answer {
        let (method, rest) = match &question.what {
            Prompt::Select { title, options } => ("ui/select", Rest::Select { title, options }),
            Prompt::Confirm { title, message } => ("ui/confirm", Rest::Confirm { title, message }),
            Prompt::Input { title, placeholder } => {
                let placeholder = placeholder.as_deref();
                ("ui/input", Rest::Input { title, placeholder })
            }
            Prompt::Editor { title, prefill } => {
                let prefill = prefill.as_deref();
                ("ui/editor", Rest::Editor { title, prefill })
            }
        };
        let timeout = question.timeout.map(|time| time.as_millis());
        let timeout = timeout.and_then(|ms| u64::try_from(ms).ok());
        let params = params(&question.from, rest, timeout);
        let answered: Option<Answered> = self.outgoing.ask(method, "ui/withdrawn", params).await;
        match answered.map(|answered| answered.value) {
            Some(Value::String(text)) => Answer::Text(text),
            Some(Value::Bool(true)) => Answer::Yes,
            Some(Value::Bool(false)) => Answer::No,
            _ => Answer::Dismissed,
        }
    }

    fn tell(&self, notice: NotificationFrom) {
        let (method, rest) = match &notice.what {
            Notification::Notify { message, level } => {
                let level = *level;
                ("ui/notify", Rest::Notify { message, level })
            }
            Notification::Status { key, text } => {
                let text = text.as_deref();
                ("ui/setStatus", Rest::Status { key, text })
            }
            Notification::EditorText { text } => {
                self.editor_text.lock().clone_from(text);
                ("ui/setEditorText", Rest::EditorText { text })
            }
        };
        self.outgoing.tell(method, params(&notice.from, rest, None));
    }

    fn editor_text(&self) -> String {
        self.editor_text.lock().clone()
    }
}
