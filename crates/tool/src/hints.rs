//! Hints of a tool's author for the clients that list and call it.
//!
//! Clients may ignore all of them, and the user's configuration takes precedence over them.

use std::time::Duration;

/// Rule for continuing a call as a background task, for clients that support tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskMode {
    /// Continue as a task as soon as the call starts.
    Always,
    /// Never continue as a task: the client waits for the result.
    Never,
    /// Continue as a task once a request has waited this long for the result.
    After(Duration),
}

/// Hints of a tool's author. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHints {
    /// Rule for continuing a call as a task.
    pub task: Option<TaskMode>,
    /// True if clients that load definitions on demand should load this one at the start.
    pub always_load: Option<bool>,
    /// A phrase by which a client's tool search should find the tool.
    pub search_hint: Option<String>,
    /// Single words for the same purpose, for tools without a phrase.
    pub keywords: Vec<String>,
}
