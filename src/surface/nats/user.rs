//! The person at the calling host.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use haft_nats::CallLink;
use haft_tool::{
    Answer, AnswerScope, ApprovalRequest, Approver, Decision, Forwarded, NotificationFrom,
    Question, RunApprovalRequest, RunDecision, UserInterface,
};

/// Interface that asks the person at the calling host.
pub(super) struct RemoteUser(pub(super) CallLink);

#[async_trait]
impl UserInterface for RemoteUser {
    fn has_user(&self) -> bool {
        self.0.has_user()
    }

    async fn ask(&self, question: Question) -> Answer {
        self.0.ask(question.what, question.timeout).await
    }

    fn tell(&self, notice: NotificationFrom) {
        self.0.tell(notice.what);
    }

    async fn forward(&self, request: Forwarded) -> Option<Value> {
        let Forwarded {
            method,
            key,
            params,
            ..
        } = request;
        self.0.forward(method, key, params).await
    }
}

/// Approver whose answers do not outlast the call: a caller must not change what later calls of others
/// may do.
pub(super) struct Once(pub(super) Arc<dyn Approver>);

#[async_trait]
impl Approver for Once {
    async fn ask(&self, mut request: ApprovalRequest) -> Decision {
        request.scope = request.scope.min(AnswerScope::Run);
        self.0.ask(request).await
    }

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        self.0.ask_for_run(request).await
    }
}
