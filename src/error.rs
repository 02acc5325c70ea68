//! Why haft could not do what it was asked: a kind, a text, a hint.
//!
//! "The tool said no" is never an error here, it is an `Outcome`. Every surface
//! maps [`ErrorKind`] to its own codes with one exhaustive `match`.

use std::fmt;

use crate::tool::Stopped;

/// A failure of haft itself, as opposed to one that a tool reports.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

/// What sort of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request itself is wrong (flags, JSON, configuration).
    Usage,
    /// The arguments do not fit the tool's schema; nothing was started.
    BadArguments,
    /// There is no tool of that name.
    NoSuchTool,
    /// The project that brings the tool is not trusted.
    Untrusted,
    /// A policy or the user said no.
    Denied,
    /// The tool, or the file that holds it, cannot be loaded.
    Load,
    /// The call was stopped before the tool ended.
    Stopped(Stopped),
    /// A tool broke its isolate while this call ran beside it.
    IsolateLost,
    /// A defect of haft, or a machine in trouble.
    Internal,
}

impl Error {
    /// An error of `kind`; `message` is what happened, without a final period.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
