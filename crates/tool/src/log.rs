//! Log lines of running tools, for listeners besides the log file.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum LogLevel {
    /// For the author of the tool.
    Debug,
    /// Normal.
    Info,
    /// Something unexpected.
    Warn,
    /// A failure.
    Error,
}

impl LogLevel {
    /// Returns the name: `debug`, `info`, `warn` or `error`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One line of `pi.logger` or `console`.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// The severity.
    pub level: LogLevel,
    /// The name of the tool.
    pub tool: String,
    /// The message in the tool's own words. It may contain control sequences.
    pub message: String,
    /// Structured context of the message, if any: a JSON object.
    pub context: Option<Box<RawValue>>,
}

/// Listener for the log lines of tool calls. Lines that a tool logs while it loads, or after its
/// call has ended, go only to the log file.
pub trait LogListener: Debug + Send + Sync {
    /// Receives one line, in the order in which the lines were logged. Runs on the tool's own
    /// thread, so it must not block.
    fn hear(&self, line: LogLine);
}
