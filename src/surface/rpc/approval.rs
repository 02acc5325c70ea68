//! Requests the peer's approval of calls.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::outgoing::Outgoing;
use haft_tool::{ApprovalRequest, Approver, Decision, Tier};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ask<'a> {
    call_id: &'a str,
    tool: &'a str,
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    arguments: &'a RawValue,
    /// The complete call as haft would display it.
    text: String,
}

#[derive(Deserialize)]
struct Answered {
    decision: Word,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

#[async_trait]
impl Approver for Outgoing {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let params = Ask {
            call_id: &request.call_id,
            tool: &request.tool,
            tier: request.tier,
            reason: request.reason.as_deref(),
            details: request.details.as_deref(),
            arguments: &request.arguments,
            text: request.to_text(),
        };
        let asked = Outgoing::ask(self, "approval/ask", "approval/withdrawn", params);
        // An invalid answer is not an approval.
        match asked.await {
            Some(Answered { decision }) => match decision {
                Word::Approve => Decision::Approved,
                Word::Deny => Decision::Denied,
            },
            None => Decision::NobodyToAsk,
        }
    }
}
