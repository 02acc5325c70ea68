//! Vocabulary of approval: what a tool says about the harm of a call, what the user allows, and the
//! question that the user is asked.
//!
//! These types decide nothing; the decision is made in `execute`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Tier, Tool};

/// Default treatment of calls that no rule and no pattern covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Only calls of the tier `read` run without a question.
    AlwaysAsk,
    /// Calls of the tiers `read` and `write` run without a question.
    Write,
    /// Every call runs, unless a tool or a rule of the user says otherwise.
    #[default]
    Yolo,
}

/// A standing answer of the user or of a tool to the question whether a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Run it.
    Allow,
    /// Refuse it.
    Deny,
    /// Ask each time.
    Prompt,
}

/// Approval policy of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// The mode for tools without a rule.
    pub mode: ApprovalMode,
    /// True if the mode was chosen rather than left at its default. The default does not approve a
    /// tool that needs an explicit yes. Where tools are approved by pattern, the default asks about
    /// all other tools.
    pub is_chosen: bool,
    /// True if the user names the tool of each call, which is an explicit yes to that call. It is
    /// none to the calls that the tool makes itself.
    pub is_named: bool,
    /// Rules by tool name.
    pub tools: BTreeMap<String, Rule>,
    /// Tools that run without a question.
    pub approve: Vec<ToolPattern>,
    /// Tools that are refused, whatever else approves them.
    pub deny: Vec<ToolPattern>,
    /// Tiers by tool name. They override the tier that the tool declares.
    pub tiers: BTreeMap<String, Tier>,
    /// The highest tier that a call may have. A call above it is refused, whatever else approves
    /// it.
    pub max_tier: Option<Tier>,
    /// True if the user is asked about every call that is not refused: the caller is a tool that
    /// may do less than the called one.
    pub asks_always: bool,
}

/// Statement of a tool about the harm of a call and about its approval.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequirement {
    /// Amount of harm that the call may do.
    pub tier: Tier,
    /// The reason, as text for the user who is asked.
    pub reason: Option<String>,
    /// True if the user must be asked even where the mode would let the call run.
    #[serde(default, rename = "override")]
    pub always_prompt: bool,
    /// The tool's own rule. It can refuse a call or demand a question. It never allows a call that
    /// the user's rules or mode ask about.
    pub policy: Option<Rule>,
    /// Another name under which the user's rules know this kind of call. A rule under this name
    /// that allows the call counts only if the name begins with the tool's own name.
    pub policy_key: Option<String>,
    /// Description of the call's effects in the tool's words, one or more lines.
    pub details: Option<String>,
    /// The JSON text of the arguments as the tool gets them. Set if the tool's schema changes them.
    #[serde(default)]
    pub arguments: Option<String>,
    /// True if only an explicit yes lets the call run: the tool system expects authors to declare
    /// the harm, and this author did not.
    #[serde(skip)]
    pub requires_explicit_yes: bool,
}

/// Source of a tool's [`ApprovalRequirement`], which determines when it is known.
#[derive(Clone, Copy, Debug)]
pub enum Approval<'a> {
    /// The tool declares only its tier.
    ByTier,
    /// The stance is the same for every call.
    Fixed(&'a ApprovalRequirement),
    /// The tool computes its stance from the arguments.
    PerCall,
}

/// A question to the user for the approval of one call.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// Amount of harm that the call may do.
    pub tier: Tier,
    /// The tool's reason, if it gives one.
    pub reason: Option<String>,
    /// Description of the call's effects in the tool's words, one or more lines.
    pub details: Option<String>,
    /// The arguments with which the tool would run, valid under its schema.
    pub arguments: Box<RawValue>,
    /// Name of the tool that makes the call, if a tool makes it.
    pub caller: Option<String>,
    /// The calls that the answer may hold for.
    pub scope: AnswerScope,
}

/// The calls that an answer to an [`ApprovalRequest`] may hold for. Each scope contains the ones
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerScope {
    /// Only the call: a rule of the user or the tool demands a question for every call, or the tool
    /// needs an explicit yes.
    Call,
    /// Also later calls of the tool in the same run of a script: the question follows from the mode
    /// of approval.
    Run,
    /// Also all later calls of the tool ([`Decision::AlwaysApproved`]): the tool has a file to which
    /// the answer can be bound.
    Tool,
}

/// A question to the user for the approval of all calls that a script waits for.
#[derive(Clone, Debug)]
pub struct RunApprovalRequest {
    /// The id of the script's own call.
    pub call_id: String,
    /// The calls, at least one.
    pub calls: Vec<ApprovalRequest>,
}

/// Result of a [`RunApprovalRequest`], for the tools of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDecision {
    /// The user approved the calls, and all calls of the same tools in the same run.
    ApprovedForRun,
    /// The user wants to be asked for each call.
    EachCall,
    /// The user refused the calls, and all calls of the same tools in the same run.
    Denied,
    /// No user can be asked.
    NobodyToAsk,
}

/// Result of an [`ApprovalRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The user approved the call.
    Approved,
    /// The user approved the call, and later calls of the tool up to its tier, as long as the tool's
    /// file does not change. Counts as [`Decision::Approved`] if the scope of the request is not
    /// [`AnswerScope::Tool`].
    AlwaysApproved,
    /// The user refused the call.
    Denied,
    /// No user can be asked.
    NobodyToAsk,
}

/// Lasting answers of the user about the calls of one tool.
pub trait ApprovalMemory: Send + Sync {
    /// Returns the highest tier of calls that run without a question.
    fn approved(&self) -> Option<Tier>;

    /// Lets calls up to `tier` run without a question from now on.
    ///
    /// # Errors
    /// When that cannot be stored; a sentence.
    fn approve(&self, tier: Tier) -> Result<(), String>;
}

/// Interface that asks the user for approval. Each surface with a user implements it.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks and waits for the answer, without a time limit. The future is dropped when the call is
    /// cancelled.
    async fn ask(&self, request: ApprovalRequest) -> Decision;

    /// Asks for the approval of the calls of a script. By default asks one question by
    /// [`Approver::ask`], whose text contains all calls.
    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        match self.ask(request.as_one()).await {
            Decision::Approved | Decision::AlwaysApproved => RunDecision::ApprovedForRun,
            Decision::Denied => RunDecision::Denied,
            Decision::NobodyToAsk => RunDecision::NobodyToAsk,
        }
    }
}

impl ApprovalMode {
    /// Every mode by the name that flags and configuration files use.
    pub const NAMES: [(&'static str, ApprovalMode); 3] = [
        ("always-ask", ApprovalMode::AlwaysAsk),
        ("write", ApprovalMode::Write),
        ("yolo", ApprovalMode::Yolo),
    ];

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, mode)| *mode == self);
        // The table has every mode.
        found.map_or("", |(name, _)| name)
    }

    /// Returns true if a call of this tier runs without a question.
    pub fn allows(self, tier: Tier) -> bool {
        match self {
            ApprovalMode::AlwaysAsk => tier <= Tier::Read,
            ApprovalMode::Write => tier <= Tier::Write,
            ApprovalMode::Yolo => true,
        }
    }

    /// Returns the mode of that name. Surrounding spaces and the case of letters are ignored.
    pub fn from_name(name: &str) -> Option<ApprovalMode> {
        let name = name.trim().to_lowercase();
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, mode)| *mode)
    }
}

impl Rule {
    /// Returns the rule of that name. Surrounding spaces and the case of letters are ignored (spec
    /// omp 10).
    pub fn from_name(name: &str) -> Option<Rule> {
        name.trim().to_lowercase().parse().ok()
    }
}

impl ApprovalRequest {
    /// Returns true if [`Decision::AlwaysApproved`] is a possible answer.
    pub fn can_be_remembered(&self) -> bool {
        self.scope == AnswerScope::Tool
    }
}

impl ApprovalRequirement {
    /// Returns the stance of a tool that declares only its tier.
    pub fn of_tier(tier: Tier) -> ApprovalRequirement {
        ApprovalRequirement {
            tier,
            reason: None,
            always_prompt: false,
            policy: None,
            policy_key: None,
            details: None,
            arguments: None,
            requires_explicit_yes: false,
        }
    }
}

/// Pattern that selects the tools of a standing answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(pub(super) String);

impl std::fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tool:{}", self.0)
    }
}

impl ToolPattern {
    /// Parses `tool:weather`, `tool:git-*`, `*` or `all`. The prefix `tool:` is optional.
    ///
    /// # Errors
    /// Returns a sentence if the text is empty.
    pub fn parse(text: &str) -> Result<ToolPattern, String> {
        let body = text.trim();
        let body = body.strip_prefix("tool:").unwrap_or(body).trim();
        match body {
            "" => Err(format!(
                "`{text}` names no tool: write `tool:` and a tag, a name, or `*`"
            )),
            "all" => Ok(ToolPattern("*".to_owned())),
            body => Ok(ToolPattern(body.to_owned())),
        }
    }

    /// Returns the tier if the pattern is a word for harm. haft's own word `exec` means `run`.
    pub(super) fn tier(&self) -> Option<Tier> {
        match self.0.as_str() {
            "read" => Some(Tier::Read),
            "write" => Some(Tier::Write),
            "run" | "exec" => Some(Tier::Exec),
            _ => None,
        }
    }

    /// Returns true if the pattern matches the word; `*` stands for any text.
    fn fits(&self, word: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = word.strip_prefix(first) else {
            return false;
        };
        let mut last = None;
        for part in parts {
            if let Some(middle) = last.replace(part) {
                match rest.find(middle) {
                    Some(at) => rest = &rest[at + str::len(middle)..],
                    None => return false,
                }
            }
        }
        match last {
            Some(last) => rest.ends_with(last),
            None => rest.is_empty(),
        }
    }

    pub(super) fn fits_tool(&self, name: &str, tags: &[String]) -> bool {
        self.fits(name) || tags.iter().any(|tag| self.fits(tag))
    }

    /// Returns true if the pattern approves a call. A word for harm also approves less harmful
    /// calls. It never approves a call whose harm the author has not declared.
    pub(super) fn approves(&self, tool: &Tool, stance: &ApprovalRequirement) -> bool {
        match self.tier() {
            Some(tier) => {
                stance.tier <= tier && !stance.requires_explicit_yes && !stance.always_prompt
            }
            None => self.fits_tool(&tool.name, &tool.tags),
        }
    }
}
