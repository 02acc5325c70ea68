//! Standing answers: patterns such as `tool:read` or `tool:git-*`, which select tools (spec cycod
//! 118–120).
//!
//! A word for harm (`read`, `write`, `run`) refers to the effects of a call. Every other word
//! refers to names and tags of tools. A refusal of a tool also refuses the tools that use it. An
//! approval does not need that: a tool is as harmful as the tools that it uses.

use super::{
    ApprovalMode, ApprovalPolicy, ApprovalRequirement, Family, Level, Rule, Tier, Tool,
    ToolPattern, ToolRef,
};

impl ApprovalPolicy {
    /// Returns the refusal, as text for a model, if the user refuses the tool whatever its
    /// arguments are. `tier` is the tier of the call.
    pub fn refusal(&self, tool: &Tool, tier: Tier) -> Option<String> {
        let name = &tool.name;
        if let Some(most) = self.max_tier
            && tier > most
        {
            let (tier, most) = (tier.as_str(), most.as_str());
            return Some(format!(
                "Tool \"{name}\" is not allowed here: this call is of tier \"{tier}\", the highest is \"{most}\"."
            ));
        }
        let is_denied = |name: &str| self.tools.get(name) == Some(&Rule::Deny);
        let by_rule = |key: &str| format!("tools.approval.{key}: deny\" from config.");
        if is_denied(name) {
            return Some(blocked(name, None, &by_rule(name)));
        }
        if let Some(used) = tool.uses.iter().find(|used| is_denied(&used.name)) {
            return Some(blocked(name, Some(&used.name), &by_rule(&used.name)));
        }
        for pattern in &self.deny {
            let way_out = format!("--auto-deny tool:{}\".", pattern.0);
            let harms = pattern.tier() == Some(tier);
            if harms || pattern.fits_tool(name, &tool.tags) {
                return Some(blocked(name, None, &way_out));
            }
            let is_meant = |used: &&ToolRef| pattern.fits_tool(&used.name, &used.tags);
            if let Some(used) = tool.uses.iter().find(is_meant) {
                return Some(blocked(name, Some(&used.name), &way_out));
            }
        }
        None
    }

    /// Returns the tier whose rights the call gets if a pattern approves it. A word for harm gives
    /// the rights of its tier; a name or a tag gives all rights.
    pub fn approves(&self, tool: &Tool, stance: &ApprovalRequirement) -> Option<Tier> {
        let patterns = self.approve.iter();
        let approving = patterns.filter(|pattern| pattern.approves(tool, stance));
        approving
            .map(|pattern| pattern.tier().unwrap_or(Tier::Exec))
            .max()
    }

    /// Returns the policy for calls that code makes, so that no user has seen them before: without
    /// a mode that the user has chosen, the user is asked about all that do more than read.
    #[must_use]
    pub fn for_unseen_calls(&self) -> ApprovalPolicy {
        let mut policy = self.clone();
        policy.is_named = false;
        if !policy.is_chosen {
            policy.mode = ApprovalMode::AlwaysAsk;
        }
        policy
    }

    /// Returns the tier of the call: the user's tier for the tool, otherwise the tool's own.
    pub fn tier(&self, tool: &Tool, stance: &ApprovalRequirement) -> Tier {
        self.tiers.get(&tool.name).copied().unwrap_or(stance.tier)
    }

    /// Returns the tier that counts for a tool that declares `declared`: the user's, if there is one.
    /// Nothing enforces the tier of a program, so the tier that a project declares for its shell
    /// tools counts as `exec`.
    pub fn counted_tier(&self, tool: &Tool, declared: Tier) -> Tier {
        let source = &tool.source;
        let is_claim = source.family == Family::Shell && source.level == Level::Project;
        match self.tiers.get(&tool.name) {
            Some(users) => *users,
            None if is_claim => Tier::Exec,
            None => declared,
        }
    }

    /// Returns the highest tier of calls that run without a question. Code that runs before the
    /// question has the rights of that tier.
    pub fn unasked_tier(&self) -> Tier {
        if !self.has_answer() && !self.approve.is_empty() {
            let named = self.approve.iter().filter_map(ToolPattern::tier);
            return named.max().unwrap_or(Tier::Read);
        }
        match self.mode {
            ApprovalMode::AlwaysAsk => Tier::Read,
            ApprovalMode::Write => Tier::Write,
            ApprovalMode::Yolo => Tier::Exec,
        }
    }

    /// Returns true if the mode is the user's own answer to calls without a rule.
    fn has_answer(&self) -> bool {
        self.is_chosen || self.is_named
    }

    /// Returns true if a rule of the user demands a question for a tool that this tool uses.
    pub fn asks_inside(&self, tool: &Tool) -> bool {
        let asks = |used: &ToolRef| self.tools.get(&used.name) == Some(&Rule::Prompt);
        tool.uses.iter().any(asks)
    }

    /// Returns the value of `ctx.autoApprove`: true if the mode lets all calls run without a
    /// question.
    pub fn auto_approves(&self) -> bool {
        self.mode == ApprovalMode::Yolo
    }

    /// Returns true if the mode lets a call run that no rule and no pattern covers.
    pub fn lets_pass(&self, stance: &ApprovalRequirement) -> bool {
        let is_for_all = self.has_answer() || self.approve.is_empty();
        let has_yes = self.has_answer() || !stance.requires_explicit_yes;
        is_for_all && has_yes && self.mode.allows(stance.tier)
    }
}

/// Returns the text of a refusal. Its first words are oh-my-pi's (spec omp 10).
fn blocked(tool: &str, used: Option<&str>, way_out: &str) -> String {
    let what = match used {
        Some(used) => format!("Tool \"{tool}\" uses \"{used}\", which is blocked by user policy."),
        None => format!("Tool \"{tool}\" is blocked by user policy."),
    };
    format!("{what}\nTo allow: remove \"{way_out}")
}
