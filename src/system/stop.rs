//! The two ways in which a tool does not do its work.
//!
//! Parameters that are no parameters are the caller's bug and end the program with code 1. A file
//! that is not there is an answer like any other, for the model to read.

use std::io::{self, ErrorKind};

use serde_json::{Value, json};

use super::params::Wrong;

#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error(transparent)]
    Params(#[from] Wrong),
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What the model is told: a sentence and a code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    code: &'static str,
    message: String,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Failure {
            code,
            message: message.into(),
        }
    }

    /// A file or folder that the system does not let us open.
    pub fn opening(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            // `a.txt/b`: nothing of that name can be there.
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                Failure::new("FILE_NOT_FOUND", format!("File not found: {path}"))
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Failure::new("PERMISSION_DENIED", format!("Permission denied: {path}"))
            }
            _ => Failure::new(
                "OPEN_FAILED",
                format!("Cannot open file: {path} ({})", plain(error)),
            ),
        }
    }

    /// A file that was open and then refused.
    pub fn reading(path: &str, error: &io::Error) -> Self {
        let message = format!("Failed to read file: {path} ({})", plain(error));
        Failure::new("READ_FAILED", message)
    }

    pub fn to_json(&self) -> Value {
        json!({"error": self.message, "error_code": self.code})
    }
}

/// The error in words, without the number of the system call's error.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}
