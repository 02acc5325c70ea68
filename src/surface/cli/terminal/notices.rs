//! Notifications of tools at the terminal: messages, and status lines.

use std::collections::BTreeMap;

use crate::surface::cli::exit::say;
use crate::surface::cli::progress::Spinner;
use haft_render::style::Ink;
use haft_render::text;
use haft_tool::NoticeLevel;

/// Notifications. They are held back during a prompt.
pub(super) struct Notices {
    spinner: Option<Spinner>,
    ink: Ink,
    statuses: BTreeMap<String, String>,
    /// Messages held back; `None` outside of prompts.
    held: Option<String>,
    pub(super) editor_text: String,
}

impl Notices {
    pub(super) fn new(spinner: Option<Spinner>, ink: Ink) -> Self {
        Notices {
            spinner,
            ink,
            statuses: BTreeMap::new(),
            held: None,
            editor_text: String::new(),
        }
    }

    pub(super) fn say(&mut self, tool: &str, message: &str, level: NoticeLevel) {
        let tool = self.ink.dim(format!("[{}]", text::name(tool)));
        // Only the first line names the tool.
        let message = text::clean(message);
        let mut lines = message.trim_end().replace('\n', "\n│ ");
        lines.push('\n');
        let line = match level {
            NoticeLevel::Info => format!("{tool} {lines}"),
            NoticeLevel::Warning => format!("{tool} {}: {lines}", self.ink.warning("warning")),
            NoticeLevel::Error => format!("{tool} {}: {lines}", self.ink.error("error")),
        };
        match (&mut self.held, &self.spinner) {
            (Some(held), _) => held.push_str(&line),
            (None, Some(spinner)) => spinner.suspend(|| say(&line)),
            (None, None) => say(&line),
        }
    }

    pub(super) fn status(&mut self, key: String, line: Option<String>) {
        match line.map(|line| text::first_line(&line)) {
            Some(line) if !line.is_empty() => self.statuses.insert(key, line),
            _ => self.statuses.remove(&key),
        };
        if let Some(spinner) = &self.spinner {
            let lines: Vec<&str> = self.statuses.values().map(String::as_str).collect();
            spinner.status(&lines.join(" · "));
        }
    }

    /// Holds back messages, since a prompt begins.
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Prints the messages held back, since the prompt has ended.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            say(&held);
        }
    }
}
