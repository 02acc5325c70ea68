//! Approval through a [`UserInterface`], for surfaces without an approver. The question is asked
//! like a tool's.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use haft_tool::{
    Answer, ApprovalRequest, Approver, Decision, Prompt, PromptOrigin, Question, UserInterface,
};

/// Source of the approval of a call: the approver, or else the user interface.
pub(super) struct Approvers<'a> {
    pub(super) approver: Option<&'a Arc<dyn Approver>>,
    pub(super) ui: Option<&'a Arc<dyn UserInterface>>,
}

struct AskUser(Arc<dyn UserInterface>);

impl Approvers<'_> {
    pub(super) fn approver(&self) -> Option<Arc<dyn Approver>> {
        let by_user = || Some(Arc::new(AskUser(self.ui?.clone())) as Arc<dyn Approver>);
        self.approver.cloned().or_else(by_user)
    }
}

// oh-my-pi's words (spec omp 10).
const APPROVE: &str = "Approve";
const DENY: &str = "Deny";

#[async_trait]
impl Approver for AskUser {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        if !self.0.has_user() {
            return Decision::NobodyToAsk;
        }
        let withdrawn = CancellationToken::new();
        let _withdraw = withdrawn.clone().drop_guard();
        let question = Question {
            what: Prompt::Select {
                title: request.to_text(),
                options: vec![APPROVE.to_owned(), DENY.to_owned()],
            },
            from: PromptOrigin {
                call_id: Some(request.call_id),
                tool: request.tool,
            },
            timeout: None,
            withdrawn,
        };
        match self.0.ask(question).await {
            Answer::Text(choice) if choice == APPROVE => Decision::Approved,
            // A dismissed question refuses the call.
            _ => Decision::Denied,
        }
    }
}
