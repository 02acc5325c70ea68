//! Diagnostics for bad input: the fault, its location, and a hint.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Source;

/// End of a hint: the way to trust a project or its changes.
pub const TRUST_HINT: &str = "`haft trust` shows what would run, and asks";

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information only: nothing is lost.
    Info,
    /// Something was ignored or repaired; the tool works.
    Warning,
    /// A tool, or a file that should hold one, cannot be used.
    Error,
}

/// A fault in a file, a tool or a setting that was found. A problem never prevents other tools from
/// loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The severity.
    pub severity: Severity,
    /// The file or folder that the problem concerns.
    pub path: Option<PathBuf>,
    /// 1-based line in `file`, or in `path`.
    pub line: Option<u32>,
    /// 1-based column in that line.
    pub column: Option<u32>,
    /// The file that contains the line, if it is not `path`: a helper that a module imports.
    pub file: Option<PathBuf>,
    /// The tool that the problem concerns, if one is known.
    pub tool_name: Option<String>,
    /// Description of the fault in one sentence, without a final period.
    pub message: String,
    /// Instruction that resolves the problem.
    pub hint: Option<String>,
    /// The source lines around the location, ready to print.
    pub frame: Option<String>,
    /// The provider and level of the file, if the problem concerns a file that was found or named.
    pub source: Option<Arc<Source>>,
}

impl Problem {
    /// Creates an error without a location; set one with the builders `at`, `about` and `hint`.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// Creates a warning, to be completed like [`Problem::error`].
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// Creates a piece of information, to be completed like [`Problem::error`].
    pub fn info(message: impl Into<String>) -> Self {
        Self::new(Severity::Info, message)
    }

    fn new(severity: Severity, message: impl Into<String>) -> Self {
        Problem {
            severity,
            path: None,
            line: None,
            column: None,
            file: None,
            tool_name: None,
            message: message.into(),
            hint: None,
            frame: None,
            source: None,
        }
    }

    /// Sets the file or folder.
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the line and the column in the file, both 1-based.
    pub fn place(mut self, line: u32, column: u32) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    /// Sets the name of the tool.
    pub fn about(mut self, tool_name: impl Into<String>) -> Self {
        self.tool_name = Some(tool_name.into());
        self
    }

    /// Sets the instruction that resolves the problem.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
