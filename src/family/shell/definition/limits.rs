//! Bounds of a run and what is done after it (spec cycod 112–117, 261–273).

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
    /// `delete-temp-files: true`; with `false` there is no entry.
    DeleteTempFiles,
    /// `final-command:` with `{references}`, for the platform's default shell.
    FinalCommand(String),
}

/// `interactive: true` with `interactive-options:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interaction {
    /// How long a person has to answer.
    pub(crate) timeout: Duration,
    /// What is sent, with a newline, where nobody answers.
    pub(crate) default_response: Option<String>,
}

impl Interaction {
    /// Where `interactive-options.timeout` says nothing (spec cycod 117).
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
}
