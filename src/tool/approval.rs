//! Approval: what a tool says about the harm of a call, what the user allows, who is asked.
//!
//! Vocabulary only; the one place that decides is `execute`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Tier, ToolPattern};

/// What happens to calls that nobody said anything about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Only what merely looks runs without a question.
    AlwaysAsk,
    /// What looks or changes files runs without a question.
    Write,
    /// Everything runs, unless a tool or the user says otherwise.
    #[default]
    Yolo,
}

/// A standing answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Run it.
    Allow,
    /// Refuse it.
    Deny,
    /// Ask each time.
    Prompt,
}

/// What the user allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// For tools without a rule.
    pub mode: ApprovalMode,
    /// Somebody chose the mode. The default by itself is no yes to a tool that needs an explicit
    /// one, and where tools are approved by pattern the others are asked about.
    pub is_chosen: bool,
    /// A tool's name → its rule.
    pub tools: BTreeMap<String, Rule>,
    /// Tools that run without a question.
    pub approve: Vec<ToolPattern>,
    /// Tools that are refused, whatever else approves them.
    pub deny: Vec<ToolPattern>,
    /// A tool's name → its tier, which outweighs what the tool says.
    pub tiers: BTreeMap<String, Tier>,
    /// The highest tier of a call: what is above it is refused, whatever else approves it.
    pub max_tier: Option<Tier>,
}

/// What a tool says about a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stance {
    /// How much harm the call may do.
    pub tier: Tier,
    /// Why, for whoever is asked.
    pub reason: Option<String>,
    /// Ask even where the mode would not.
    #[serde(default, rename = "override")]
    pub must_ask: bool,
    /// The tool's own rule. It may refuse a call or have it asked about; it never allows what the
    /// user's rules or mode ask about.
    pub policy: Option<Rule>,
    /// Another name under which the user's rules know this kind of call. A rule under it that allows
    /// counts only where it begins with the tool's own name.
    pub policy_key: Option<String>,
    /// What the call will do, in the tool's words; lines.
    pub details: Option<String>,
    /// The JSON text of the arguments as the tool gets them, where a tool's schema decides that.
    #[serde(default)]
    pub arguments: Option<String>,
    /// Its author has not said how harmful it is, in a system that asks for that: only an explicit
    /// yes lets it run.
    #[serde(skip)]
    pub needs_yes: bool,
}

/// When a tool's stance is known.
#[derive(Clone, Copy, Debug)]
pub enum Approval<'a> {
    /// The tool has said nothing but its tier.
    ByTier,
    /// It is the same for every call.
    Fixed(&'a Stance),
    /// The tool looks at the arguments.
    PerCall,
}

/// A question for the user: may this call run?
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// How much harm the call may do.
    pub tier: Tier,
    /// The tool's reason, if it gives one.
    pub reason: Option<String>,
    /// What the call will do, in the tool's words; lines.
    pub details: Option<String>,
    /// The arguments with which the tool would run. They fit the tool.
    pub arguments: Box<RawValue>,
}

/// What became of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Approved,
    /// The user said no.
    Denied,
    /// There is nobody who could be asked.
    NobodyToAsk,
}

/// Asks the user. Every surface that has one brings its own.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks, and waits as long as the user thinks. Dropped when the call is cancelled.
    async fn ask(&self, request: ApprovalRequest) -> Decision;
}

impl ApprovalMode {
    /// Every mode by the name that flags and configuration files use.
    pub const NAMES: [(&'static str, ApprovalMode); 3] = [
        ("always-ask", ApprovalMode::AlwaysAsk),
        ("write", ApprovalMode::Write),
        ("yolo", ApprovalMode::Yolo),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, mode)| *mode == self);
        // The table has every mode.
        found.map_or("", |(name, _)| name)
    }

    /// Whether a call of this tier runs without a question.
    pub fn allows(self, tier: Tier) -> bool {
        match self {
            ApprovalMode::AlwaysAsk => tier <= Tier::Read,
            ApprovalMode::Write => tier <= Tier::Write,
            ApprovalMode::Yolo => true,
        }
    }

    /// The mode of that name; spaces around it and capitals do not matter.
    pub fn from_name(name: &str) -> Option<ApprovalMode> {
        let name = name.trim().to_lowercase();
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, mode)| *mode)
    }
}

impl Rule {
    /// The rule of that name; spaces around it and capitals do not matter (spec omp 10).
    pub fn from_name(name: &str) -> Option<Rule> {
        match name.trim().to_lowercase().as_str() {
            "allow" => Some(Rule::Allow),
            "deny" => Some(Rule::Deny),
            "prompt" => Some(Rule::Prompt),
            _ => None,
        }
    }
}

impl Stance {
    /// That of a tool which says nothing but its tier.
    pub fn of_tier(tier: Tier) -> Stance {
        Stance {
            tier,
            reason: None,
            must_ask: false,
            policy: None,
            policy_key: None,
            details: None,
            arguments: None,
            needs_yes: false,
        }
    }
}
