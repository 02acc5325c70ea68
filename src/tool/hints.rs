//! Wishes of a tool's author for the clients that list and call it.
//!
//! Clients may ignore all of them, and what the user configures comes before them.

use std::time::Duration;

/// When a call goes on as a background task, where its client knows tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskMode {
    /// As soon as it starts.
    Always,
    /// Not at all: the client waits for the result.
    Never,
    /// When one request has waited this long for the result.
    After(Duration),
}

/// Wishes of a tool's author. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHints {
    /// When a call becomes a task.
    pub task: Option<TaskMode>,
    /// Whether clients that load definitions when they need them should have this one from the start.
    pub always_load: Option<bool>,
    /// A phrase by which a client's tool search should find the tool.
    pub search_hint: Option<String>,
    /// Single words for the same purpose, where there is no phrase.
    pub keywords: Vec<String>,
}
