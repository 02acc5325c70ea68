//! A queued call as JSON: the common form of the command line and REST.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use haft_nats::{Asked, OpenQuestion, QueuedCall};
use haft_render::text;
use haft_tool::{Prompt, TerminalText, Timestamp, USER_ID, terminal_text};

/// A queued call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueuedCall)]
pub(crate) struct QueuedView<'a> {
    /// Its id.
    id: &'a str,
    /// The hosts' name for the tool.
    tool: &'a str,
    /// `queued`, `working`, `input_required`, `completed`, `failed`, `cancelled` or `lost`.
    status: &'static str,
    /// True if its host is asked to cancel it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cancelling: Option<bool>,
    /// The name of the host that has queued it.
    caller: &'a str,
    /// The name of the host that runs it, or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    host: Option<String>,
    /// Number of hosts that have begun it.
    attempts: u32,
    /// When it was queued, UTC.
    #[schema(format = DateTime)]
    queued_at: String,
    /// When its state has changed last, UTC.
    #[schema(format = DateTime)]
    updated_at: String,
    /// Its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<&'a str>,
    /// Its questions that wait for an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    questions: Vec<QueuedQuestionView<'a>>,
}

/// A question of a queued call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedQuestionView<'a> {
    question: u64,
    #[serde(flatten)]
    asked: AskedView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AskedView<'a> {
    Prompt(&'a Prompt),
    Request {
        kind: &'static str,
        method: &'static str,
        params: &'a Value,
    },
}

impl<'a> From<&'a QueuedCall> for QueuedView<'a> {
    fn from(call: &'a QueuedCall) -> QueuedView<'a> {
        let host = call.host.as_ref();
        QueuedView {
            id: &call.id,
            tool: &call.tool,
            status: call.status.as_str(),
            cancelling: call.is_cancelling.then_some(true),
            caller: &call.caller,
            host: host.map(|host| TerminalText::from_value(&host.name).into_string()),
            attempts: call.attempts,
            queued_at: Timestamp::of(call.queued).timestamp(),
            updated_at: Timestamp::of(call.updated).timestamp(),
            message: call.message.as_deref(),
            questions: call.questions.iter().map(Into::into).collect(),
        }
    }
}

impl<'a> From<&'a OpenQuestion> for QueuedQuestionView<'a> {
    fn from(question: &'a OpenQuestion) -> QueuedQuestionView<'a> {
        let (asked, timeout) = match &question.asked {
            Asked::Prompt { prompt, timeout } => (AskedView::Prompt(prompt), *timeout),
            Asked::Request { method, params, .. } => {
                let kind = "request";
                let asked = AskedView::Request {
                    kind,
                    method,
                    params,
                };
                (asked, None)
            }
        };
        let timeout = timeout.map(|time| time.as_millis());
        QueuedQuestionView {
            question: question.id,
            asked,
            timeout_ms: timeout.and_then(|ms| u64::try_from(ms).ok()),
        }
    }
}

/// Returns the id of the client that a call belongs to. One without a client was queued at a command line,
/// which the user did.
pub(crate) fn owner(call: &QueuedCall) -> &str {
    call.owner.as_deref().unwrap_or(USER_ID)
}

/// Returns a question as one line.
pub(crate) fn question_line(question: &OpenQuestion) -> TerminalText {
    match &question.asked {
        Asked::Prompt { prompt, .. } => match prompt {
            Prompt::Select { title, options } => {
                let options: Vec<_> = options.iter().map(|it| text::first_line(it)).collect();
                let options = TerminalText::join(&options, " / ");
                terminal_text!("{} ({options})", text::first_line(title))
            }
            Prompt::Confirm { title, .. } => {
                terminal_text!("{} (yes / no)", text::first_line(title))
            }
            Prompt::Input { title, .. } | Prompt::Editor { title, .. } => text::first_line(title),
        },
        Asked::Request { method, .. } => terminal_text!("the request `{method}` of an MCP server"),
    }
}
