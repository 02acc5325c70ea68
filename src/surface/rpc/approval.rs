//! Requests the peer's approval of calls.

use async_trait::async_trait;

use super::outgoing::Outgoing;
use crate::surface::question_view::{ApprovalView, DecisionView};
use haft_tool::{ApprovalRequest, Approver, Decision};

#[async_trait]
impl Approver for Outgoing {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let params = ApprovalView::from(&request);
        let asked = Outgoing::ask(self, "approval/ask", "approval/withdrawn", params);
        // An invalid answer is not an approval.
        let answered: Option<DecisionView> = asked.await;
        answered.map_or(Decision::NobodyToAsk, Decision::from)
    }
}
