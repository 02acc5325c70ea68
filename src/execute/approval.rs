//! Whether a call may start: the one policy, in the order of the original (spec omp 10).
//!
//! What can be decided before the arguments are known is decided then, and such a call meets no
//! gate at all. The rest waits at a [`Gatekeeper`], which asks whoever there is to ask.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::ask_user::Judges;
use crate::error::{Error, ErrorKind};
use crate::tool::{
    Approval, ApprovalMode, ApprovalPolicy, ApprovalRequest, Approver, Call, CallTrace, Decision,
    Gate, Progress, Rule, Runner, Stance, Tool, Updates,
};

/// Decides for one call.
pub(super) struct Gatekeeper {
    policy: ApprovalPolicy,
    approver: Option<Arc<dyn Approver>>,
    tool: Arc<Tool>,
    call: Call,
    updates: Updates,
    trace: Option<Arc<CallTrace>>,
    waited: Mutex<Duration>,
}

/// What the policy says, and the rule that says it.
struct Judgement {
    verdict: Verdict,
    rule: String,
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
        judges: Judges<'_>,
        tool: &Arc<Tool>,
        runner: &dyn Runner,
        call: &Call,
        updates: &Updates,
        trace: Option<Arc<CallTrace>>,
    ) -> Option<Arc<Self>> {
        let judgement = match runner.approval() {
            Approval::ByTier => Some(judge(policy, tool, &Stance::of_tier(tool.approval))),
            Approval::Fixed(stance) => Some(judge(policy, tool, stance)),
            Approval::PerCall => None,
        };
        if let Some(Judgement {
            verdict: Verdict::Allow,
            rule,
        }) = judgement
        {
            if let Some(trace) = trace {
                trace.decided("allowed", rule);
            }
            return None;
        }
        Some(Arc::new(Gatekeeper {
            policy: policy.clone(),
            approver: judges.approver(),
            tool: tool.clone(),
            call: call.clone(),
            updates: updates.clone(),
            trace,
            waited: Mutex::default(),
        }))
    }

    async fn ask(&self, stance: Stance) -> Decision {
        let Some(approver) = &self.approver else {
            return Decision::NobodyToAsk;
        };
        let request = ApprovalRequest {
            call_id: self.call.id.clone(),
            tool: self.tool.name.clone(),
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
        let tool = &*self.tool;
        let Judgement { verdict, rule } = judge(&self.policy, tool, &stance);
        let (decision, refusal) = match verdict {
            Verdict::Allow => ("allowed", None),
            Verdict::Deny(text) => ("denied", Some(text)),
            Verdict::Ask => match self.ask(stance.clone()).await {
                Decision::Approved => ("asked: allowed", None),
                Decision::Denied => {
                    let text = format!("Tool call denied by user: {}", tool.name);
                    ("asked: denied", Some(text))
                }
                Decision::NobodyToAsk => ("nobody to ask", Some(nobody_to_ask(tool, &stance))),
            },
        };
        if let Some(trace) = &self.trace {
            trace.decided(decision, rule);
        }
        match refusal {
            None => Ok(()),
            Some(text) => Err(Error::new(ErrorKind::Denied, text)),
        }
    }

    fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper")
            .field("tool", &self.tool.name)
            .finish_non_exhaustive()
    }
}

/// The order is the original's: the refusals, then in yolo mode whoever has a rule, else the tool's
/// wish to be asked about, its own rule, the user's rule, the mode. What the user approves by
/// pattern comes before that wish, and after every rule that somebody wants to be asked.
fn judge(policy: &ApprovalPolicy, tool: &Tool, stance: &Stance) -> Judgement {
    let name = &tool.name;
    if stance.policy == Some(Rule::Deny) {
        let reason = match &stance.reason {
            Some(reason) => format!("\nReason: {reason}"),
            None => String::new(),
        };
        let text = format!("Tool \"{name}\" is blocked by tool policy.{reason}");
        return Verdict::Deny(text).by("the tool's policy");
    }
    if let Some(refusal) = policy.refusal(tool, stance.tier) {
        return Verdict::Deny(refusal).by("the user's deny rules");
    }
    let user = user_rule(policy, name, stance);
    if let Some((key, Rule::Deny)) = user {
        let rule = format!("the user's rule `{key}: deny`");
        let text = format!(
            "Tool \"{name}\" is blocked by user policy.\n\
             To allow: remove \"tools.approval.{key}: deny\" from config."
        );
        return Verdict::Deny(text).by(rule);
    }
    let inside = policy.asks_inside(tool).then_some(Rule::Prompt);
    let (rule, whose) = match (stance.policy, user, inside) {
        (Some(rule), _, _) => (Some(rule), "the tool's policy".to_owned()),
        (None, Some((key, rule)), _) => {
            let word = match rule {
                Rule::Allow => "allow",
                Rule::Prompt => "prompt",
                Rule::Deny => "deny",
            };
            (Some(rule), format!("the user's rule `{key}: {word}`"))
        }
        (None, None, Some(rule)) => (Some(rule), "a rule for a tool that it uses".to_owned()),
        (None, None, None) => (None, String::new()),
    };
    if rule != Some(Rule::Prompt) && policy.approves(tool, stance) {
        return Verdict::Allow.by("the user's approve rules");
    }
    let is_yolo = policy.mode == ApprovalMode::Yolo && policy.lets_pass(stance);
    if stance.must_ask && !is_yolo && stance.policy != Some(Rule::Allow) {
        return Verdict::Ask.by("the tool asks for this call");
    }
    let mode = || format!("mode {}, tier {}", policy.mode.name(), stance.tier.as_str());
    match rule {
        Some(Rule::Prompt) => Verdict::Ask.by(whose),
        Some(_) => Verdict::Allow.by(whose),
        None if policy.lets_pass(stance) => Verdict::Allow.by(mode()),
        None => Verdict::Ask.by(mode()),
    }
}

impl Verdict {
    fn by(self, rule: impl Into<String>) -> Judgement {
        Judgement {
            verdict: self,
            rule: rule.into(),
        }
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

/// The words are the original's, but for the place of the setting: there is no `/settings` here. Where tools have tags, the user approves by them (spec cycod 121).
fn nobody_to_ask(tool: &Tool, stance: &Stance) -> String {
    let name = &tool.name;
    let (mut why, mut by_tag) = (String::new(), String::new());
    if stance.needs_yes {
        why = "It has no security tag (read, write or run), so only an explicit yes lets it run.\n"
            .to_owned();
    } else if !tool.tags.is_empty() {
        why = format!("It is tagged {}.\n", tool.tags.join(", "));
    }
    if !why.is_empty() {
        by_tag = format!("\n  4. Start haft with --auto-approve tool:{name}, or a tag of it");
    }
    format!(
        "Tool \"{name}\" requires approval but no interactive UI available.\n\
         {why}Options:\n  \
         1. Set tools.approvalMode: yolo in ~/.omp/agent/config.yml, or start haft with \
         --approval-mode yolo\n  \
         2. Add tools.approval.{name}: allow to config\n  \
         3. Use an interactive UI to approve the tool call{by_tag}"
    )
}
