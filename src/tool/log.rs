//! What tools log while they run, for whoever wants to hear it besides the log file.

use std::fmt::Debug;

use serde_json::value::RawValue;

/// How loud a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the author of the tool.
    Debug,
    /// Normal.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

/// One line of `pi.logger` or `console`.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// How loud it is.
    pub level: LogLevel,
    /// The name of the tool.
    pub tool: String,
    /// The words are the tool's own: they may hold control sequences.
    pub message: String,
    /// What belongs to it, if anything: a JSON object.
    pub context: Option<Box<RawValue>>,
}

/// Hears what the tools of calls log. What they log while they load, or after their call has ended, is in
/// the log file only.
pub trait LogListener: Debug + Send + Sync {
    /// A line, in its order. Called on the tool's own thread: must not block.
    fn hear(&self, line: LogLine);
}
