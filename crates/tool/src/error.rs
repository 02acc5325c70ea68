//! Error type of haft: a kind, a message and a hint.
//!
//! A failure that a tool reports is never an error here: it is an `Outcome`. Every surface maps
//! [`ErrorKind`] to its own codes with one exhaustive `match`.

use std::fmt;

use crate::Stopped;

/// A failure of haft itself, as opposed to one that a tool reports.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is invalid (flags, JSON, configuration).
    Usage,
    /// The arguments do not fit the tool's schema. The tool was not started.
    BadArguments,
    /// The tool is unknown.
    NoSuchTool,
    /// The project that contains the tool is not trusted.
    Untrusted,
    /// A policy or the user refused the call.
    Denied,
    /// The tool, or the file that contains it, cannot be loaded.
    Load,
    /// The call was stopped before the tool ended.
    Stopped(Stopped),
    /// A tool broke its isolate while this call ran in the same isolate.
    IsolateLost,
    /// The host that runs the tool cannot be reached. The call was not begun.
    Unavailable,
    /// The client has reached a limit. The call was not begun, and may succeed later.
    Limited,
    /// The host that ran the call is gone. What the call has done is not known.
    Lost,
    /// A defect of haft, or a fault of the machine.
    Internal,
}

impl ErrorKind {
    /// Returns the name of the kind, which is the same in all JSON that haft writes.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the kind of that name. The reason of a stopped call is not in it, so there is none for
    /// `stopped`.
    pub fn from_name(name: &str) -> Option<ErrorKind> {
        let all = [
            ErrorKind::Usage,
            ErrorKind::BadArguments,
            ErrorKind::NoSuchTool,
            ErrorKind::Untrusted,
            ErrorKind::Denied,
            ErrorKind::Load,
            ErrorKind::IsolateLost,
            ErrorKind::Unavailable,
            ErrorKind::Limited,
            ErrorKind::Lost,
            ErrorKind::Internal,
        ];
        all.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Error {
    /// Creates an error of `kind`; `message` describes the failure, without a final period.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// Adds a hint: an instruction that resolves the failure.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the error that caused this one, for [`std::error::Error::source`]. The message is
    /// complete without it.
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the description of the failure.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the instruction that resolves the failure, if there is one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
