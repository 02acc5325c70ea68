//! The two ways in which a tool fails.
//!
//! Invalid parameters are the caller's bug and end the program with code 1. A missing file is a
//! normal answer, which the model reads.

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

/// A failure that the model gets as an answer: a sentence and a code.
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

    /// Returns the failure for a file or folder that cannot be opened.
    pub fn opening(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            // `a.txt/b`: a file below a file cannot exist.
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

    /// Returns the failure for an opened file that cannot be read.
    pub fn reading(path: &str, error: &io::Error) -> Self {
        let message = format!("Failed to read file: {path} ({})", plain(error));
        Failure::new("READ_FAILED", message)
    }

    pub fn to_json(&self) -> Value {
        json!({"error": self.message, "error_code": self.code})
    }
}

/// Returns the error as text, without the number of the system error.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}
