//! Whether a call may start: the one policy, in the order of the original (spec omp 10).
//!
//! What can be decided before the arguments are known is decided then, and such a call meets no
//! gate at all. The rest waits at a [`Gatekeeper`], which asks whoever there is to ask.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::error::{Error, ErrorKind};
use crate::tool::{
    Approval, ApprovalMode, ApprovalPolicy, ApprovalRequest, Approver, Call, Decision, Gate,
    Progress, Rule, Runner, Stance, Tool, Updates,
};

/// Decides for one call.
pub(super) struct Gatekeeper {
    policy: ApprovalPolicy,
    approver: Option<Arc<dyn Approver>>,
    tool: String,
    call: Call,
    updates: Updates,
    waited: Mutex<Duration>,
}

/// What the policy says.
enum Verdict {
    Allow,
    Deny(String),
    Ask,
}

impl Gatekeeper {
    /// The gatekeeper for `call`; none where the call may start whatever its arguments are.
    pub(super) fn for_call(
        policy: &ApprovalPolicy,
        approver: Option<&Arc<dyn Approver>>,
        tool: &Tool,
        runner: &dyn Runner,
        call: &Call,
        updates: &Updates,
    ) -> Option<Arc<Self>> {
        let verdict = match runner.approval() {
            Approval::ByTier => judge(policy, &tool.name, &Stance::of_tier(tool.approval)),
            Approval::Fixed(stance) => judge(policy, &tool.name, stance),
            Approval::PerCall => Verdict::Ask,
        };
        if matches!(verdict, Verdict::Allow) {
            return None;
        }
        Some(Arc::new(Gatekeeper {
            policy: policy.clone(),
            approver: approver.cloned(),
            tool: tool.name.clone(),
            call: call.clone(),
            updates: updates.clone(),
            waited: Mutex::default(),
        }))
    }

    async fn ask(&self, stance: Stance) -> Decision {
        let Some(approver) = &self.approver else {
            return Decision::NobodyToAsk;
        };
        let request = ApprovalRequest {
            call_id: self.call.id.clone(),
            tool: self.tool.clone(),
            tier: stance.tier,
            reason: stance.reason,
            details: stance.details,
            arguments: self.call.arguments.clone(),
        };
        let asked = Instant::now();
        self.updates.send(Progress::Asking);
        let decision = approver.ask(request).await;
        self.updates.send(Progress::Answered);
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += asked.elapsed();
        decision
    }
}

#[async_trait]
impl Gate for Gatekeeper {
    async fn pass(&self, stance: Stance) -> Result<(), Error> {
        let tool = &self.tool;
        let refusal = match judge(&self.policy, tool, &stance) {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(text) => text,
            Verdict::Ask => match self.ask(stance).await {
                Decision::Approved => return Ok(()),
                Decision::Denied => format!("Tool call denied by user: {tool}"),
                Decision::NobodyToAsk => nobody_to_ask(tool),
            },
        };
        Err(Error::new(ErrorKind::Denied, refusal))
    }

    fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// The order is the original's: the refusals, then in yolo mode whoever has a rule, else the tool's
/// wish to be asked about, its own rule, the user's rule, the mode.
fn judge(policy: &ApprovalPolicy, tool: &str, stance: &Stance) -> Verdict {
    if stance.policy == Some(Rule::Deny) {
        let reason = match &stance.reason {
            Some(reason) => format!("\nReason: {reason}"),
            None => String::new(),
        };
        return Verdict::Deny(format!(
            "Tool \"{tool}\" is blocked by tool policy.{reason}"
        ));
    }
    let user = user_rule(policy, tool, stance);
    if let Some((key, Rule::Deny)) = user {
        return Verdict::Deny(format!(
            "Tool \"{tool}\" is blocked by user policy.\n\
             To allow: remove \"tools.approval.{key}: deny\" from config."
        ));
    }
    let is_yolo = policy.mode == ApprovalMode::Yolo;
    if stance.must_ask && !is_yolo && stance.policy != Some(Rule::Allow) {
        return Verdict::Ask;
    }
    match stance.policy.or(user.map(|(_, rule)| rule)) {
        Some(Rule::Prompt) => Verdict::Ask,
        Some(_) => Verdict::Allow,
        None if policy.mode.allows(stance.tier) => Verdict::Allow,
        None => Verdict::Ask,
    }
}

/// The user's rule and the key it stands under. A tool chooses its policy key itself, so the key
/// never outweighs a refusal of the tool's name.
fn user_rule<'a>(
    policy: &ApprovalPolicy,
    tool: &'a str,
    stance: &'a Stance,
) -> Option<(&'a str, Rule)> {
    if policy.tools.is_empty() {
        return None;
    }
    let rule = |key: &'a str| policy.tools.get(key).map(|rule| (key, *rule));
    let by_name = rule(tool);
    match by_name {
        Some((_, Rule::Deny)) => by_name,
        _ => stance.policy_key.as_deref().and_then(rule).or(by_name),
    }
}

fn nobody_to_ask(tool: &str) -> String {
    format!(
        "Tool \"{tool}\" requires approval but no interactive UI available.\n\
         Options:\n  \
         1. Set tools.approvalMode: yolo in /settings\n  \
         2. Add tools.approval.{tool}: allow to config\n  \
         3. Use an interactive UI to approve the tool call"
    )
}
