//! Approval settings of oh-my-pi: `tools.approvalMode`, `tools.approval.<name>`.
//!
//! Only the user's file is read, because a project must not decide what its tools may do unasked.
//! Discovery reads the file, too, and reports it if it is unreadable. An unknown mode or rule
//! counts as one that always asks, because the user wanted something stricter than the default.

use serde_json::Value;

use super::layers::ConfigLayer;
use super::{Roots, paths};
use haft_tool::{ApprovalMode, Rule};

/// oh-my-pi's files. The first one that has the key wins.
const FILES: [&str; 3] = ["config.yml", "config.yaml", "settings.json"];

/// Returns the layer of the user's settings.
pub(super) fn user(roots: &Roots) -> ConfigLayer {
    let mut written = ConfigLayer::default();
    for name in FILES {
        let Ok(Some(text)) = paths::read_text(&roots.omp_agent.join(name)) else {
            continue;
        };
        // JSON is YAML as well.
        let Ok(settings) = serde_saphyr::from_str::<Value>(&text) else {
            continue;
        };
        written.merge_from(approval(&settings["tools"]));
    }
    written
}

fn approval(tools: &Value) -> ConfigLayer {
    let mode = tools["approvalMode"].as_str();
    let rules = tools["approval"].as_object().into_iter().flatten();
    ConfigLayer {
        approval_mode: mode
            .map(|name| ApprovalMode::from_name(name).unwrap_or(ApprovalMode::AlwaysAsk)),
        approval_rules: rules
            .map(|(tool, rule)| {
                let rule = rule.as_str().and_then(Rule::from_name);
                (tool.clone(), rule.unwrap_or(Rule::Prompt))
            })
            .collect(),
        ..ConfigLayer::default()
    }
}
