//! Approval settings of oh-my-pi: `tools.approvalMode`, `tools.approval.<name>`.
//!
//! Only the user's file is read, because a project must not decide what its tools may do unasked.
//! Discovery reads the file, too, and reports it if it is unreadable. An unknown mode or rule
//! counts as one that always asks, because the user wanted something stricter than the default.

use serde_json::Value;

use super::{Config, Roots, SettingSource, paths};
use haft_tool::{ApprovalMode, Rule};

/// oh-my-pi's files. The first one that has the key wins.
const FILES: [&str; 3] = ["config.yml", "config.yaml", "settings.json"];

/// Reads the user's settings.
pub(super) fn read(roots: &Roots, config: &mut Config) {
    for name in FILES.iter().rev() {
        let path = roots.omp_agent.join(name);
        let Ok(Some(text)) = paths::read_text(&path) else {
            continue;
        };
        // JSON is YAML as well.
        let Ok(settings) = serde_saphyr::from_str::<Value>(&text) else {
            continue;
        };
        let tools = &settings["tools"];
        let record = |config: &mut Config, key: &str, value: &str| {
            let (file, line) = (path.clone(), 0);
            config.record(
                key,
                SettingSource::File { file, line },
                Some(value.to_owned()),
            );
        };
        if let Some(name) = tools["approvalMode"].as_str() {
            record(config, "approval.mode", name);
            let mode = ApprovalMode::from_name(name);
            config.approval.mode = mode.unwrap_or(ApprovalMode::AlwaysAsk);
        }
        for (tool, rule) in tools["approval"].as_object().into_iter().flatten() {
            let rule = rule.as_str().unwrap_or_default();
            record(config, &format!("approval.tools.{tool}"), rule);
            let rule = Rule::from_name(rule).unwrap_or(Rule::Prompt);
            config.approval.tools.insert(tool.clone(), rule);
        }
    }
}
