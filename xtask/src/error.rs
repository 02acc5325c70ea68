//! Errors of the tasks: the reason of a failure, and a hint.
//!
//! One closed enum serves the whole program. A task stops at the first failure and prints it for a
//! person; no code matches on the kind.

use std::error::Error as _;
use std::io;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine lacks something that we may not or cannot install.
    #[error("{what}")]
    Missing { what: String, hint: String },

    /// A program that we started failed; its own messages are already on the terminal.
    #[error("`{command}` {ended}")]
    Command {
        command: String,
        ended: String,
        hint: Option<String>,
    },

    #[error("cannot {doing}")]
    Io { doing: String, source: io::Error },

    /// Something outside (a file, an answer) is not what it must be.
    #[error("{what}")]
    Unexpected { what: String },
}

impl Error {
    pub fn unexpected(what: impl Into<String>) -> Self {
        Self::Unexpected { what: what.into() }
    }

    fn hint(&self) -> Option<&str> {
        match self {
            Self::Missing { hint, .. } => Some(hint),
            Self::Command { hint, .. } => hint.as_deref(),
            Self::Io { .. } | Self::Unexpected { .. } => None,
        }
    }

    /// Prints the error with its causes, then the hint.
    pub fn report(&self) {
        eprintln!("error: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            eprintln!("  because: {error}");
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            eprintln!("hint: {hint}");
        }
    }
}

/// Adds the current action to an error of the system.
pub trait During<T> {
    fn during(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io {
            doing: doing(),
            source,
        })
    }
}
