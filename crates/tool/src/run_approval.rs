//! The question for the approval of the calls of a script.

use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use super::FRAME;
use super::{
    Answer, AnswerScope, ApprovalRequest, Prompt, PromptOrigin, Question, RunApprovalRequest,
    RunDecision, TerminalText, Tier, UserInterface, terminal_text,
};

/// Limit of the calls of one tool that a question shows.
const MAX_CALLS_SHOWN: usize = 10;
/// Limit of the characters of one call's arguments.
const MAX_ARGUMENT_CHARS: usize = 300;

const FOR_RUN: &str = "Approve for this run";
const EACH_CALL: &str = "Ask for each call";
const DENY: &str = "Deny";

/// Asks the user of `ui` for the approval of the calls of a script.
pub async fn ask_user_for_run(ui: &dyn UserInterface, request: &RunApprovalRequest) -> RunDecision {
    if !ui.has_user() {
        return RunDecision::NobodyToAsk;
    }
    let withdrawn = CancellationToken::new();
    let _withdraw = withdrawn.clone().drop_guard();
    let options = [FOR_RUN, EACH_CALL, DENY].map(str::to_owned).to_vec();
    let question = Question {
        what: Prompt::Select {
            title: request.to_text().into_string(),
            options,
        },
        from: PromptOrigin {
            call_id: Some(request.call_id.clone()),
            tool: request.names().join(", "),
        },
        timeout: None,
        withdrawn,
    };
    match ui.ask(question).await {
        Answer::Text(choice) if choice == FOR_RUN => RunDecision::ApprovedForRun,
        Answer::Text(choice) if choice == EACH_CALL => RunDecision::EachCall,
        // A dismissed question refuses the calls.
        _ => RunDecision::Denied,
    }
}

impl RunApprovalRequest {
    /// Returns the names of the tools in the order of their first calls.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for call in &self.calls {
            if !names.contains(&call.tool.as_str()) {
                names.push(&call.tool);
            }
        }
        names
    }

    /// Returns the question as text for people. Every line that haft did not write begins with
    /// `│ `; invisible characters are shown as escapes.
    pub fn to_text(&self) -> TerminalText {
        let mut text = match self.calls.len() {
            1 => "A script waits for the approval of 1 call".into(),
            many => terminal_text!("A script waits for the approval of {many} calls"),
        };
        self.list_calls(&mut text);
        text
    }

    fn list_calls(&self, text: &mut TerminalText) {
        for name in self.names() {
            let calls = self.calls.iter().filter(|call| call.tool == name);
            let calls: Vec<&ApprovalRequest> = calls.collect();
            let tier = calls.iter().map(|call| call.tier).max();
            let tier = tier.unwrap_or(Tier::Exec).as_str();
            let plural = if calls.len() == 1 { "call" } else { "calls" };
            let count = calls.len();
            text.push(&terminal_text!("\n{name}: {count} {plural}, tier {tier}"));
            for call in calls.iter().take(MAX_CALLS_SHOWN) {
                let arguments: String = call
                    .arguments
                    .get()
                    .chars()
                    .take(MAX_ARGUMENT_CHARS)
                    .collect();
                let cut = if arguments.len() < call.arguments.get().len() {
                    "…"
                } else {
                    ""
                };
                let arguments = TerminalText::from_line(&arguments);
                text.push(&terminal_text!("\n{FRAME}{arguments}{cut}"));
                let said = call.reason.iter().chain(&call.details);
                for line in said.flat_map(|said| said.lines()) {
                    let line = TerminalText::from_line(line);
                    text.push(&terminal_text!("\n{FRAME}  {line}"));
                }
            }
            if count > MAX_CALLS_SHOWN {
                let left_out = count - MAX_CALLS_SHOWN;
                text.push(&terminal_text!("\n… {left_out} more calls"));
            }
        }
    }

    /// Returns one request that stands for all calls, for an approver that knows only those.
    pub(super) fn as_one(&self) -> ApprovalRequest {
        let arguments: Vec<_> = self.calls.iter().map(|call| &call.arguments).collect();
        let arguments = match self.calls.as_slice() {
            [one] => one.arguments.clone(),
            _ => to_raw_value(&arguments).unwrap_or_else(|_| super::Call::no_arguments()),
        };
        let tiers = self.calls.iter().map(|call| call.tier);
        ApprovalRequest {
            call_id: self.call_id.clone(),
            tool: self.names().join(", "),
            tier: tiers.max().unwrap_or(Tier::Exec),
            reason: Some(
                "a script makes these calls; the answer holds for all calls of these tools in this run"
                    .to_owned(),
            ),
            details: (self.calls.len() > 1).then(|| self.to_text().into_string()),
            arguments,
            caller: None,
            scope: AnswerScope::Run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;

    fn request(tool: &str, tier: Tier, arguments: &str) -> ApprovalRequest {
        ApprovalRequest {
            call_id: "run.1".to_owned(),
            tool: tool.to_owned(),
            tier,
            reason: None,
            details: None,
            arguments: serde_json::value::RawValue::from_string(arguments.to_owned())
                .unwrap_or_else(|_| Call::no_arguments()),
            caller: None,
            scope: AnswerScope::Run,
        }
    }

    #[test]
    fn a_question_lists_all_calls_by_tool_and_frames_what_the_script_wrote() {
        let mut calls: Vec<_> = (0..12)
            .map(|n| request("write_file", Tier::Write, &format!(r#"{{"n":{n}}}"#)))
            .collect();
        calls.push(request("push", Tier::Exec, "{\"to\":\"\u{202e}\"}"));
        let request = RunApprovalRequest {
            call_id: "run".to_owned(),
            calls,
        };
        let text = request.to_text().into_string();
        let mut lines = text.lines();
        assert_eq!(
            lines.next(),
            Some("A script waits for the approval of 13 calls")
        );
        assert_eq!(lines.next(), Some("write_file: 12 calls, tier write"));
        assert_eq!(lines.next(), Some("│ {\"n\":0}"));
        assert_eq!(lines.nth(9), Some("… 2 more calls"));
        assert_eq!(lines.next(), Some("push: 1 call, tier exec"));
        assert_eq!(lines.next(), Some("│ {\"to\":\"\\u{202e}\"}"));
        let one = request.as_one();
        assert_eq!(
            (one.tool.as_str(), one.tier),
            ("write_file, push", Tier::Exec)
        );
    }
}
