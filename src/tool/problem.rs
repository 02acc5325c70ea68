//! Bad input as data: what is wrong, where, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Source;

/// How a user gets to trust a project, or what changed in it; ends a hint.
pub(crate) const TRUST_HINT: &str = "`haft trust` shows what would run, and asks";

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information: nothing is lost.
    Info,
    /// Something was ignored or repaired; the tool works.
    Warning,
    /// A tool, or a file that should hold one, cannot be used.
    Error,
}

/// One thing that is wrong with what was found. Problems never stop other tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder it is about.
    pub path: Option<PathBuf>,
    /// 1-based line in `file`, or in `path`.
    pub line: Option<u32>,
    /// 1-based column in that line.
    pub column: Option<u32>,
    /// The file that the line is in, where it is not `path`: a helper that a module imports.
    pub file: Option<PathBuf>,
    /// The tool it is about, where one is known.
    pub tool_name: Option<String>,
    /// What is wrong, one sentence without a final period.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The author's lines around the place, ready to print.
    pub frame: Option<String>,
    /// Who found the file, where it is about one that was found or named.
    pub source: Option<Arc<Source>>,
}

impl Problem {
    /// An error about nothing in particular; fill in with the `at`, `about` and `hint` builders.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// A warning, filled in like [`Problem::error`].
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// A piece of information, filled in like [`Problem::error`].
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

    /// Names the file or folder.
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Names the place in the file, both 1-based.
    pub fn place(mut self, line: u32, column: u32) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    /// Names the tool.
    pub fn about(mut self, tool_name: impl Into<String>) -> Self {
        self.tool_name = Some(tool_name.into());
        self
    }

    /// Says what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
