//! Approval rules of the repl: those of the configuration, and those of `/approve`.

use crate::registry::Catalog;
use haft_tool::{
    ApprovalMode, ApprovalPolicy, Rule, TerminalText, ToolPattern, did_you_mean, terminal_text,
};
use haft_tool::{Error, ErrorKind};

/// Approval rules that apply now.
pub(super) struct Approving {
    by_config: ApprovalPolicy,
    /// Rules after `/approve`; `None` for those of the configuration.
    said: Option<ApprovalPolicy>,
    /// Arguments of `/approve` so far, as they were typed.
    approved: Vec<String>,
}

impl Approving {
    pub(super) fn new(by_config: &ApprovalPolicy) -> Approving {
        Approving {
            by_config: by_config.clone(),
            said: None,
            approved: Vec::new(),
        }
    }

    /// Returns the current rules.
    pub(super) fn policy(&self) -> &ApprovalPolicy {
        self.said.as_ref().unwrap_or(&self.by_config)
    }

    /// Applies `/approve words…`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a word that is neither a mode nor a tool, [`ErrorKind::Denied`] for
    /// a tool that the configuration denies. The rules stay unchanged then.
    pub(super) fn change(&mut self, words: &[String], catalog: &Catalog) -> Result<(), Error> {
        match words {
            [] => {}
            [word] if word == "reset" => {
                self.said = None;
                self.approved.clear();
            }
            [word] if ApprovalMode::from_name(word).is_some() => {
                let mode = ApprovalMode::from_name(word).unwrap_or_default();
                let mut policy = self.policy().clone();
                policy.mode = mode;
                policy.is_chosen = true;
                self.said = Some(policy);
            }
            tools => self.approve(tools, catalog)?,
        }
        Ok(())
    }

    fn approve(&mut self, tools: &[String], catalog: &Catalog) -> Result<(), Error> {
        let mut policy = self.policy().clone();
        for written in tools {
            let is_pattern = written.starts_with("tool:") || written.contains('*');
            if !is_pattern && catalog.find(written).is_none() {
                return Err(neither(written, catalog));
            }
            if policy.tools.get(written) == Some(&Rule::Deny) {
                let text = format!("your configuration denies `{written}`");
                let hint = format!("`approval.tools.{written}` in it says so");
                return Err(Error::new(ErrorKind::Denied, text).with_hint(hint));
            }
            if !is_pattern {
                // Outweighs a rule of the configuration that asks for this tool.
                policy.tools.insert(written.clone(), Rule::Allow);
            }
            let pattern = ToolPattern::parse(written);
            let pattern = pattern.map_err(|error| Error::new(ErrorKind::Usage, error))?;
            policy.approve.push(pattern);
        }
        // Without a chosen mode the host would prompt for all other tools as well.
        policy.is_chosen = true;
        self.said = Some(policy);
        self.approved.extend(tools.iter().cloned());
        Ok(())
    }

    /// Describes the current rules.
    pub(super) fn page(&self) -> TerminalText {
        let policy = self.policy();
        let what = match policy.mode {
            ApprovalMode::AlwaysAsk => "what only reads runs without a question",
            ApprovalMode::Write => "what reads or writes files runs without a question",
            ApprovalMode::Yolo => "everything runs without a question",
        };
        let mut page = terminal_text!("{}: {what}\n", policy.mode.name());
        if !self.approved.is_empty() {
            let approved = self.approved.join(", ");
            page.push(&terminal_text!("approved here: {approved}\n"));
        }
        let by_config = self.by_config.tools.iter();
        let rules: Vec<String> = by_config
            .map(|(tool, rule)| {
                let rule = match rule {
                    Rule::Allow => "allow",
                    Rule::Deny => "deny",
                    Rule::Prompt => "prompt",
                };
                format!("{tool}: {rule}")
            })
            .collect();
        if !rules.is_empty() {
            page.push(&terminal_text!(
                "by your configuration: {}\n",
                rules.join(", ")
            ));
        }
        page
    }
}

fn neither(written: &str, catalog: &Catalog) -> Error {
    let text = format!("`{written}` is no mode, and there is no tool of that name");
    let modes = ApprovalMode::NAMES.iter().map(|(name, _)| *name);
    let known = modes.clone().chain(["reset"]);
    let tools = catalog.tools().map(|tool| tool.name.as_str());
    let otherwise = format!("the modes are {}", modes.collect::<Vec<_>>().join(", "));
    let hint = did_you_mean(written, known.chain(tools), otherwise);
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}
