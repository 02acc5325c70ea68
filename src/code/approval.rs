//! Approval of the calls of a script.
//!
//! The user is asked once for each tool and run, about all calls that wait at that moment. Where the
//! [scope](AnswerScope) of the answer is one call, the user is asked about each call. The deadline
//! of the script's own call stands still meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use haft_tool::{
    AnswerScope, ApprovalRequest, Approver, Decision, RunApprovalRequest, RunDecision, Updates,
};

/// Calls that want approval within this time are shown together.
const COALESCE_WINDOW: Duration = Duration::from_millis(50);

/// Approver of the calls of one script.
pub(super) struct RunApprover {
    /// Id of the script's call.
    run: String,
    waiting: mpsc::UnboundedSender<Waiting>,
}

/// A call that waits for approval.
struct Waiting {
    request: ApprovalRequest,
    decided: oneshot::Sender<Decision>,
}

impl RunApprover {
    /// Starts the approver of the script whose call has the id `run`. It ends when it is dropped.
    /// Without an approver all calls are answered by [`Decision::NobodyToAsk`].
    pub(super) fn start(
        run: &str,
        approver: Option<Arc<dyn Approver>>,
        updates: Updates,
    ) -> RunApprover {
        let (sender, waiting) = mpsc::unbounded_channel();
        if let Some(approver) = approver {
            tokio::spawn(decide_all(run.to_owned(), approver, updates, waiting));
        }
        RunApprover {
            run: run.to_owned(),
            waiting: sender,
        }
    }
}

#[async_trait]
impl Approver for RunApprover {
    async fn ask(&self, mut request: ApprovalRequest) -> Decision {
        // The caller knows the script's own call only.
        request.call_id.clone_from(&self.run);
        let (decided, decision) = oneshot::channel();
        // The other end is missing if there is no approver.
        let _ = self.waiting.send(Waiting { request, decided });
        decision.await.unwrap_or(Decision::NobodyToAsk)
    }
}

async fn decide_all(
    run: String,
    approver: Arc<dyn Approver>,
    updates: Updates,
    mut waiting: mpsc::UnboundedReceiver<Waiting>,
) {
    let mut known: HashMap<String, RunDecision> = HashMap::new();
    while let Some(first) = waiting.recv().await {
        let mut together = vec![first];
        let window = tokio::time::sleep(COALESCE_WINDOW);
        tokio::pin!(window);
        loop {
            tokio::select! {
                () = &mut window => break,
                more = waiting.recv() => match more {
                    Some(more) => together.push(more),
                    None => break,
                },
            }
        }
        let _held = updates.hold_clock();
        let (open, mut each): (Vec<_>, Vec<_>) = together
            .into_iter()
            .filter(|one| !one.decided.is_closed())
            .partition(|one| one.request.scope > AnswerScope::Call);
        let mut new = Vec::new();
        for one in open {
            match known.get(&one.request.tool) {
                Some(RunDecision::ApprovedForRun) => settle(one, Decision::Approved),
                Some(RunDecision::Denied) => settle(one, Decision::Denied),
                Some(RunDecision::EachCall) => each.push(one),
                Some(RunDecision::NobodyToAsk) => settle(one, Decision::NobodyToAsk),
                None => new.push(one),
            }
        }
        if !new.is_empty() {
            let request = RunApprovalRequest {
                call_id: run.clone(),
                calls: new.iter().map(|one| one.request.clone()).collect(),
            };
            let decision = ask_for_run(&*approver, request, &mut new).await;
            for one in new {
                known.insert(one.request.tool.clone(), decision);
                match decision {
                    RunDecision::ApprovedForRun => settle(one, Decision::Approved),
                    RunDecision::Denied => settle(one, Decision::Denied),
                    RunDecision::NobodyToAsk => settle(one, Decision::NobodyToAsk),
                    RunDecision::EachCall => each.push(one),
                }
            }
        }
        for mut one in each {
            let asked = approver.ask(one.request.clone());
            let decision = tokio::select! {
                biased;
                () = one.decided.closed() => continue,
                decision = asked => decision,
            };
            settle(one, decision);
        }
    }
}

fn settle(one: Waiting, decision: Decision) {
    // The call may have been cancelled.
    let _ = one.decided.send(decision);
}

/// Asks about all calls, until none of them waits any more.
async fn ask_for_run(
    approver: &dyn Approver,
    request: RunApprovalRequest,
    calls: &mut [Waiting],
) -> RunDecision {
    let given_up = async {
        for call in calls {
            call.decided.closed().await;
        }
    };
    tokio::select! {
        biased;
        decision = approver.ask_for_run(request) => decision,
        () = given_up => RunDecision::Denied,
    }
}
