//! Limits of a run, and its cleanup (spec cycod 112–117, 261–273).

use std::time::Duration;

/// `resources:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Resources {
    /// Bytes.
    pub(crate) max_memory: Option<u64>,
    /// In the file's order; runs however the tool ended.
    pub(crate) cleanup: Vec<Cleanup>,
}

/// One entry of `resources.cleanup`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cleanup {
    /// `delete-temp-files: true`; `false` adds no entry.
    DeleteTempFiles,
    /// `final-command:` with `{references}`, for the platform's default shell.
    FinalCommand(String),
}

/// `interactive: true` with `interactive-options:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interaction {
    /// Timeout of the user's answer.
    pub(crate) timeout: Duration,
    /// Line that is sent if no answer comes in time; a newline is added.
    pub(crate) default_response: Option<String>,
}

impl Interaction {
    /// Default of `interactive-options.timeout` (spec cycod 117).
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
}
