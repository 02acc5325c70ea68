//! Questions to users as JSON, and their answers: the common form of JSON-RPC and REST.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use haft_tool::{Answer, ApprovalRequest, Decision, Prompt, PromptOrigin, Question, Tier};

/// A question or a notification with its origin.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FromTool<'a, T: Serialize> {
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
    tool: &'a str,
    #[serde(flatten)]
    what: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

impl<'a, T: Serialize> FromTool<'a, T> {
    pub(crate) fn new(from: &'a PromptOrigin, what: T) -> Self {
        FromTool {
            call_id: from.call_id.as_deref(),
            tool: &from.tool,
            what,
            timeout_ms: None,
        }
    }
}

/// Text of a question.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum PromptView<'a> {
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
}

impl<'a> From<&'a Question> for FromTool<'a, PromptView<'a>> {
    fn from(question: &'a Question) -> Self {
        let timeout = question.timeout.map(|time| time.as_millis());
        FromTool {
            timeout_ms: timeout.and_then(|ms| u64::try_from(ms).ok()),
            ..FromTool::new(&question.from, PromptView::from(&question.what))
        }
    }
}

impl<'a> From<&'a Prompt> for PromptView<'a> {
    fn from(prompt: &'a Prompt) -> Self {
        match prompt {
            Prompt::Select { title, options } => PromptView::Select { title, options },
            Prompt::Confirm { title, message } => PromptView::Confirm { title, message },
            Prompt::Input { title, placeholder } => PromptView::Input {
                title,
                placeholder: placeholder.as_deref(),
            },
            Prompt::Editor { title, prefill } => PromptView::Editor {
                title,
                prefill: prefill.as_deref(),
            },
        }
    }
}

/// The answer to a prompt: the text, true or false; anything else dismisses it.
#[derive(Deserialize)]
pub(crate) struct AnswerView {
    #[serde(default)]
    pub(crate) value: Value,
}

impl From<AnswerView> for Answer {
    fn from(answer: AnswerView) -> Answer {
        answer.value.into()
    }
}

/// A request for the approval of a call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalView<'a> {
    call_id: &'a str,
    tool: &'a str,
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    arguments: &'a RawValue,
    /// The tool that makes the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    /// The complete call as haft would display it.
    text: String,
    /// True if the answer `always` counts for later calls of the tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    can_be_remembered: bool,
}

impl<'a> From<&'a ApprovalRequest> for ApprovalView<'a> {
    fn from(request: &'a ApprovalRequest) -> Self {
        ApprovalView {
            call_id: &request.call_id,
            tool: &request.tool,
            tier: request.tier,
            reason: request.reason.as_deref(),
            details: request.details.as_deref(),
            arguments: &request.arguments,
            caller: request.caller.as_deref(),
            text: request.to_text().into_string(),
            can_be_remembered: request.can_be_remembered(),
        }
    }
}

/// The answer to a request for approval.
#[derive(Deserialize)]
pub(crate) struct DecisionView {
    decision: DecisionWord,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum DecisionWord {
    Approve,
    Always,
    Deny,
}

impl From<DecisionView> for Decision {
    fn from(answer: DecisionView) -> Decision {
        match answer.decision {
            DecisionWord::Approve => Decision::Approved,
            DecisionWord::Always => Decision::AlwaysApproved,
            DecisionWord::Deny => Decision::Denied,
        }
    }
}
