//! Notifications of tools at the terminal: messages, and status lines.

use std::collections::BTreeMap;

use crate::surface::cli::progress::Spinner;
use crate::surface::terminal::say;
use haft_render::style::Ink;
use haft_render::text;
use haft_tool::{NoticeLevel, TerminalText, terminal_text};

/// Notifications. They are held back during a prompt.
pub(super) struct Notices {
    spinner: Option<Spinner>,
    ink: Ink,
    statuses: BTreeMap<String, TerminalText>,
    /// Messages held back; `None` outside of prompts.
    held: Option<TerminalText>,
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
        let tool = self.ink.dim(terminal_text!("[{tool}]"));
        // Only the first line names the tool.
        let message = TerminalText::from_prose(message);
        let mut lines = message.trimmed_end().replacing("\n", "\n│ ");
        lines.push_literal("\n");
        let line = match level {
            NoticeLevel::Info => terminal_text!("{tool} {lines}"),
            NoticeLevel::Warning => {
                terminal_text!("{tool} {}: {lines}", self.ink.warning("warning"))
            }
            NoticeLevel::Error => terminal_text!("{tool} {}: {lines}", self.ink.error("error")),
        };
        match (&mut self.held, &self.spinner) {
            (Some(held), _) => held.push(&line),
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
            spinner.status(&TerminalText::join(self.statuses.values(), " · "));
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
