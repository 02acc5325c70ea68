//! Approval of calls: the one policy that decides whether a call may start, in oh-my-pi's order
//! (spec omp 10).
//!
//! A call that may start whatever its arguments are gets no gate. All other calls wait at a
//! [`Gatekeeper`], which applies the policy to them and asks the approver or the user if necessary.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use haft_tool::{
    Answer, AnswerScope, Approval, ApprovalMemory, ApprovalMode, ApprovalPolicy, ApprovalRequest,
    ApprovalRequirement, Approver, Call, CallTrace, Decision, Error, ErrorKind, Gate, Progress,
    Prompt, PromptOrigin, Question, Rule, RunApprovalRequest, RunDecision, Runner, Tier, Tool,
    Updates, UserInterface, ask_user_for_run,
};

/// Gate of one call.
pub(super) struct Gatekeeper {
    policy: ApprovalPolicy,
    approver: Option<Arc<dyn Approver>>,
    memory: Option<Arc<dyn ApprovalMemory>>,
    tool: Arc<Tool>,
    call: Call,
    updates: Updates,
    trace: Option<Arc<CallTrace>>,
    waited: Mutex<Duration>,
}

/// Decision of the policy, with the rule that made it.
struct Judgement {
    verdict: Verdict,
    rule: String,
}

/// Decision of the policy.
#[derive(PartialEq, Eq)]
enum Verdict {
    /// The call may run, with the rights of that tier.
    Allow(Tier),
    Deny(String),
    /// The user must be asked, unless an earlier answer holds for this call too.
    Ask(AnswerScope),
}

impl Gatekeeper {
    /// Creates the gate of `call`; `None` if the call may start whatever its arguments are.
    pub(super) fn for_call(
        policy: &ApprovalPolicy,
        judges: Approvers<'_>,
        tool: &Arc<Tool>,
        runner: &dyn Runner,
        call: &Call,
        updates: &Updates,
        trace: Option<Arc<CallTrace>>,
    ) -> Option<Arc<Self>> {
        let (judgement, tier) = match runner.approval() {
            Approval::ByTier => {
                let stance = ApprovalRequirement::of_tier(tool.approval);
                (judge(policy, tool, &stance), stance.tier)
            }
            Approval::Fixed(stance) => (judge(policy, tool, stance), policy.tier(tool, stance)),
            Approval::PerCall => (
                Verdict::Ask(AnswerScope::Call).by("the tool decides for each call"),
                Tier::Exec,
            ),
        };
        // The runner itself restricts a tool that is always of the tier `read`.
        if judgement.verdict == Verdict::Allow(Tier::Exec)
            || tier == Tier::Read && matches!(judgement.verdict, Verdict::Allow(_))
        {
            if let Some(trace) = trace {
                trace.decided("allowed", judgement.rule);
            }
            return None;
        }
        Some(Arc::new(Gatekeeper {
            policy: policy.clone(),
            approver: approver_or_user(judges.approver, judges.ui),
            memory: (judges.memory)(),
            tool: tool.clone(),
            call: call.clone(),
            updates: updates.clone(),
            trace,
            waited: Mutex::default(),
        }))
    }

    async fn ask(&self, stance: ApprovalRequirement, scope: AnswerScope) -> Decision {
        let Some(approver) = &self.approver else {
            return Decision::NobodyToAsk;
        };
        let request = ApprovalRequest {
            call_id: self.call.id.clone(),
            tool: self.tool.name.clone(),
            tier: stance.tier,
            reason: stance.reason,
            details: stance.details,
            arguments: stance
                .arguments
                .and_then(|text| RawValue::from_string(text).ok())
                .unwrap_or_else(|| self.call.arguments.clone()),
            caller: None,
            scope,
        };
        let asked = Instant::now();
        self.updates.send(Progress::Asking);
        let decision = approver.ask(request).await;
        self.updates.send(Progress::Answered);
        *self.waited.lock() += asked.elapsed();
        decision
    }
}

#[async_trait]
impl Gate for Gatekeeper {
    async fn pass(&self, mut stance: ApprovalRequirement) -> Result<Tier, Error> {
        let tool = &*self.tool;
        stance.tier = self.policy.tier(tool, &stance);
        let Judgement { verdict, mut rule } = judge(&self.policy, tool, &stance);
        let memory = self.memory.as_ref();
        let memory = memory.filter(|_| verdict == Verdict::Ask(AnswerScope::Tool));
        let (decision, outcome) = match verdict {
            Verdict::Allow(tier) => ("allowed", Ok(tier)),
            Verdict::Deny(text) => ("denied", Err(text)),
            Verdict::Ask(_)
                if memory
                    .and_then(|memory| memory.approved())
                    .is_some_and(|tier| tier >= stance.tier) =>
            {
                "the user's answer for all calls of the tool".clone_into(&mut rule);
                ("allowed", Ok(Tier::Exec))
            }
            Verdict::Ask(scope) => {
                let scope = match memory {
                    Some(_) => scope,
                    None => scope.min(AnswerScope::Run),
                };
                match self.ask(stance.clone(), scope).await {
                    Decision::Approved => ("asked: allowed", Ok(Tier::Exec)),
                    Decision::AlwaysApproved => {
                        if let Some(memory) = memory
                            && let Err(why) = memory.approve(stance.tier)
                        {
                            tracing::warn!(tool = tool.name, "the approval counts once: {why}");
                        }
                        ("asked: always allowed", Ok(Tier::Exec))
                    }
                    Decision::Denied => {
                        let text = format!("Tool call denied by user: {}", tool.name);
                        ("asked: denied", Err(text))
                    }
                    Decision::NobodyToAsk => ("nobody to ask", Err(nobody_to_ask(tool, &stance))),
                }
            }
        };
        if let Some(trace) = &self.trace {
            trace.decided(decision, rule);
        }
        outcome.map_err(|text| Error::new(ErrorKind::Denied, text))
    }

    fn unasked(&self) -> Tier {
        self.policy.unasked_tier()
    }

    fn waited(&self) -> Duration {
        *self.waited.lock()
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper")
            .field("tool", &self.tool.name)
            .finish_non_exhaustive()
    }
}

/// Decides according to the table in docs/approval.md. The stricter rule wins. A tool may have a
/// call refused or asked about. It never removes a question that the user's rules, patterns or mode
/// require. Where the user has no rule, the order is oh-my-pi's.
fn judge(policy: &ApprovalPolicy, tool: &Tool, stance: &ApprovalRequirement) -> Judgement {
    let name = &tool.name;
    let stance = &ApprovalRequirement {
        tier: policy.tier(tool, stance),
        ..stance.clone()
    };
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
    let user_says = |rule: &str| match user {
        Some((key, _)) => format!("the user's rule `{key}: {rule}`"),
        None => String::new(),
    };
    let users_rule = user.map(|(_, rule)| rule);
    if policy.asks_always {
        return Verdict::Ask(AnswerScope::Call).by("the calling tool may do less");
    }
    if users_rule == Some(Rule::Prompt) {
        return Verdict::Ask(AnswerScope::Call).by(user_says("prompt"));
    }
    if stance.policy == Some(Rule::Prompt) {
        return Verdict::Ask(AnswerScope::Call).by("the tool's policy");
    }
    if policy.asks_inside(tool) {
        return Verdict::Ask(AnswerScope::Call).by("a rule for a tool that it uses");
    }
    if let Some(tier) = policy.approves(tool, stance) {
        return Verdict::Allow(tier).by("the user's approve rules");
    }
    let is_yolo = policy.mode == ApprovalMode::Yolo && policy.lets_pass(stance);
    // The tool's own `allow` removes only its own demand for a question.
    if stance.always_prompt && !is_yolo && stance.policy != Some(Rule::Allow) {
        return Verdict::Ask(AnswerScope::Call).by("the tool asks for this call");
    }
    if users_rule == Some(Rule::Allow) {
        return Verdict::Allow(Tier::Exec).by(user_says("allow"));
    }
    let mode = format!("mode {}, tier {}", policy.mode.name(), stance.tier.as_str());
    match (
        policy.lets_pass(&believed(policy, tool, stance)),
        policy.mode,
    ) {
        // A call that runs because of its tier gets the rights of that tier. In yolo mode the tier
        // is not the reason.
        (true, ApprovalMode::Yolo) => Verdict::Allow(Tier::Exec).by(mode),
        (true, ApprovalMode::AlwaysAsk | ApprovalMode::Write) => {
            Verdict::Allow(stance.tier).by(mode)
        }
        // An author who did not declare the harm needs an explicit yes each time.
        (false, _) if stance.requires_explicit_yes => Verdict::Ask(AnswerScope::Call).by(mode),
        (false, _) => Verdict::Ask(AnswerScope::Tool).by(mode),
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

/// Returns the stance that the mode is applied to.
fn believed(
    policy: &ApprovalPolicy,
    tool: &Tool,
    stance: &ApprovalRequirement,
) -> ApprovalRequirement {
    ApprovalRequirement {
        tier: policy.counted_tier(tool, stance.tier),
        ..stance.clone()
    }
}

/// Returns the user's rule and its key: the stricter of the rules for the tool's name and for its
/// policy key. The tool chooses the policy key itself, so an allowing rule counts only if the key
/// is about this tool.
fn user_rule<'a>(
    policy: &ApprovalPolicy,
    tool: &'a str,
    stance: &'a ApprovalRequirement,
) -> Option<(&'a str, Rule)> {
    if policy.tools.is_empty() {
        return None;
    }
    let rule = |key: &'a str| policy.tools.get(key).map(|rule| (key, *rule));
    let by_name = rule(tool);
    let by_key = stance.policy_key.as_deref().and_then(rule);
    let by_key = by_key.filter(|(key, rule)| *rule != Rule::Allow || is_about(key, tool));
    match (by_name, by_key) {
        (Some((_, Rule::Deny)), _) => by_name,
        (_, Some((_, Rule::Deny))) => by_key,
        (Some((_, Rule::Prompt)), Some((_, Rule::Allow))) => by_name,
        _ => by_key.or(by_name),
    }
}

/// Returns true if a policy key is the tool's name or begins with it as a whole word:
/// `deploy.staging`, `deploy:staging`.
fn is_about(key: &str, tool: &str) -> bool {
    let rest = key.strip_prefix(tool);
    rest.is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

/// Returns the refusal if no user can be asked. The words are oh-my-pi's, except for the place of
/// the setting, because haft has no `/settings`. For tools with tags, the text also names the
/// approval by tag (spec cycod 121).
fn nobody_to_ask(tool: &Tool, stance: &ApprovalRequirement) -> String {
    let name = &tool.name;
    let (mut why, mut by_tag) = (String::new(), String::new());
    if stance.requires_explicit_yes {
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

/// Source of the approval of a call: the approver, or else the user interface.
pub(super) struct Approvers<'a> {
    pub(super) approver: Option<&'a Arc<dyn Approver>>,
    pub(super) ui: Option<&'a Arc<dyn UserInterface>>,
    pub(super) memory: &'a (dyn Fn() -> Option<Arc<dyn ApprovalMemory>> + Sync),
}

struct AskUser(Arc<dyn UserInterface>);

/// Returns the approver, or else one that asks the user of `ui`.
pub(crate) fn approver_or_user(
    approver: Option<&Arc<dyn Approver>>,
    ui: Option<&Arc<dyn UserInterface>>,
) -> Option<Arc<dyn Approver>> {
    let by_user = || Some(Arc::new(AskUser(ui?.clone())) as Arc<dyn Approver>);
    approver.cloned().or_else(by_user)
}

// oh-my-pi's words (spec omp 10).
const APPROVE: &str = "Approve";
const DENY: &str = "Deny";
// oh-my-pi does not have this one.
const ALWAYS: &str = "Approve, always for this tool";

#[async_trait]
impl Approver for AskUser {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        if !self.0.has_user() {
            return Decision::NobodyToAsk;
        }
        let withdrawn = CancellationToken::new();
        let _withdraw = withdrawn.clone().drop_guard();
        let mut options = vec![APPROVE, DENY];
        options.extend(request.can_be_remembered().then_some(ALWAYS));
        let question = Question {
            what: Prompt::Select {
                title: request.to_text().into_string(),
                options: options.into_iter().map(str::to_owned).collect(),
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
            Answer::Text(choice) if choice == ALWAYS => Decision::AlwaysApproved,
            // A dismissed question refuses the call.
            _ => Decision::Denied,
        }
    }

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        ask_user_for_run(&*self.0, &request).await
    }
}
