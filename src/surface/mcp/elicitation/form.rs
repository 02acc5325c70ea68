//! Converts questions to forms (`elicitation/create`), and the results of forms to answers.
//!
//! Each form has one field. A form that is declined or closed is not an approval.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value, json};

use haft_tool::FRAME;
use haft_tool::{Answer, ApprovalRequest, Decision, Prompt, Question, TerminalText, terminal_text};

const APPROVE: &str = "Approve";
const ALWAYS: &str = "Approve, always for this tool";

/// Builds the form that asks whether a call may run. `None`: the form cannot be built.
pub(super) fn approval(request: &ApprovalRequest) -> Option<ElicitRequestParams> {
    let message = terminal_text!(
        "{}\n\nMay the tool `{}` run?",
        request.to_text(),
        request.tool
    );
    let mut options = vec![APPROVE, "Deny"];
    options.extend(request.can_be_remembered().then_some(ALWAYS));
    let field = json!({"type": "string", "title": "Decision", "enum": options});
    form(&message, "decision", field)
}

/// Converts the result of the approval form to a decision.
pub(super) fn decision(result: &ElicitResult) -> Decision {
    match field(result, "decision") {
        Some(Value::String(word)) if word == APPROVE => Decision::Approved,
        Some(Value::String(word)) if word == ALWAYS => Decision::AlwaysApproved,
        _ => Decision::Denied,
    }
}

/// Builds the form of a tool's question. `None`: the form cannot be built.
pub(super) fn question(question: &Question) -> Option<ElicitRequestParams> {
    prompt(&question.from.tool, &question.what)
}

/// Builds the form of a question of `tool`. The tool's name comes first, so that the question cannot
/// be taken for one of haft's. `None`: the form cannot be built.
pub(super) fn prompt(tool: &str, prompt: &Prompt) -> Option<ElicitRequestParams> {
    let form = |text: &str, name: &str, field: Value| form(&from_tool(tool, text), name, field);
    match prompt {
        Prompt::Select { title, options } => {
            let options: Vec<String> = options.iter().map(|option| label(option)).collect();
            let field = json!({"type": "string", "title": "Choice", "enum": options});
            form(title, "choice", field)
        }
        Prompt::Confirm { title, message } => {
            let text = if message.is_empty() {
                title.clone()
            } else {
                format!("{title}\n\n{message}")
            };
            let field = json!({"type": "boolean", "title": "Confirm", "default": true});
            form(&text, "confirmed", field)
        }
        Prompt::Input { title, placeholder } => {
            let mut field = json!({"type": "string", "title": "Answer"});
            if let Some(placeholder) = placeholder {
                field["description"] = format!("For example: {}", label(placeholder)).into();
            }
            form(title, "answer", field)
        }
        Prompt::Editor { title, prefill } => {
            let mut field = json!({"type": "string", "title": "Text"});
            if let Some(prefill) = prefill {
                field["default"] = prefill.as_str().into();
            }
            form(title, "text", field)
        }
    }
}

/// Prefixes the text of a question with the name of the tool that asks. Only the first line shows it, so
/// the other lines are framed.
pub(super) fn from_tool(tool: &str, text: &str) -> TerminalText {
    let mut message = terminal_text!("[{tool}] ");
    for (index, line) in TerminalText::from_prose(text).lines().iter().enumerate() {
        if index > 0 {
            message.push_literal("\n");
            message.push_literal(if line.is_empty() { "" } else { FRAME });
        }
        message.push(line);
    }
    message
}

/// Returns the text of an option or of an example as the form shows it.
fn label(text: &str) -> String {
    TerminalText::from_prose(text).into_string()
}

/// Converts the result of a question's form to the answer.
pub(super) fn answer(asked: &Prompt, result: &ElicitResult) -> Answer {
    let name = match asked {
        Prompt::Select { .. } => "choice",
        Prompt::Confirm { .. } => "confirmed",
        Prompt::Input { .. } => "answer",
        Prompt::Editor { .. } => "text",
    };
    match (asked, field(result, name)) {
        (Prompt::Confirm { .. }, Some(Value::Bool(true))) => Answer::Yes,
        (Prompt::Confirm { .. }, Some(Value::Bool(false))) => Answer::No,
        (Prompt::Confirm { .. }, _) if result.action == ElicitationAction::Decline => Answer::No,
        (Prompt::Confirm { .. }, _) => Answer::Dismissed,
        (Prompt::Select { options, .. }, Some(Value::String(text))) => {
            let chosen = options.iter().find(|option| label(option) == *text);
            chosen.map_or(Answer::Dismissed, |option| Answer::Text(option.clone()))
        }
        (_, Some(Value::String(text))) => Answer::Text(text.clone()),
        (_, _) => Answer::Dismissed,
    }
}

fn form(message: &TerminalText, name: &str, field: Value) -> Option<ElicitRequestParams> {
    let form = json!({
        "mode": "form",
        "message": message.as_str(),
        "requestedSchema": {
            "type": "object",
            "properties": {name: field},
            "required": [name],
        },
    });
    let form = serde_json::from_value(form);
    form.inspect_err(|error| tracing::warn!(%error, "a question cannot be put"))
        .ok()
}

/// Returns a field of a form that the user accepted.
fn field<'a>(result: &'a ElicitResult, name: &str) -> Option<&'a Value> {
    match result.action {
        ElicitationAction::Accept => result.content.as_ref()?.get(name),
        _ => None,
    }
}
