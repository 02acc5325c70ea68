//! Errors of programs that could not be started.
//!
//! The end of a started program is never an error of this module. Tools written for omp match on
//! the texts of these errors, so their case differs from haft's other messages.

use std::path::PathBuf;

use crate::sandbox::SandboxError;
use crate::system::{error_code as code, error_text as text};
use crate::verified::NotVerified;

/// Error of a program that could not be started. No process or other resource is left behind.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The child's `PATH` does not contain the program.
    #[error("Executable not found in $PATH: \"{program}\"")]
    NotFound {
        /// The name as the caller wrote it.
        program: String,
    },
    /// The working directory cannot be entered; most often it is missing.
    #[error("{}: {}, posix_spawn '{program}'", code(.source), text(.source))]
    Cwd {
        /// The program as the caller wrote it.
        program: String,
        /// The directory.
        cwd: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file exists but may not be executed.
    #[error("EACCES: permission denied, posix_spawn '{program}'")]
    PermissionDenied {
        /// The program as the caller wrote it.
        program: String,
    },
    /// The permissions of the tool do not allow it.
    #[error("{text}")]
    NotPermitted {
        /// The program as the caller wrote it.
        program: String,
        /// The denied program, the rule that denies it, and a way to allow it.
        text: String,
    },
    /// The program is not the one that the user trusted, or cannot be verified.
    #[error("{}: {source}", .program.display())]
    NotVerified {
        /// The program's file.
        program: PathBuf,
        /// The result of the verification.
        source: NotVerified,
    },
    /// Another user of the machine can replace the program.
    #[error("`{program}` is not started: {why}")]
    Exposed {
        /// The name as the caller wrote it.
        program: String,
        /// The part that the other user can replace.
        why: String,
    },
    /// The sandbox does not allow to execute the file, or the interpreter of the script.
    #[error("EACCES: permission denied by the sandbox, posix_spawn '{program}'")]
    Sandboxed {
        /// The program as the caller wrote it.
        program: String,
    },
    /// The sandbox cannot be made for the files that are there now.
    #[error("`{program}` is not started: {source}")]
    SandboxNotMade {
        /// The program as the caller wrote it.
        program: String,
        /// The error of the sandbox.
        source: SandboxError,
    },
    /// The sandbox cannot be entered.
    #[error("`{program}` is not started: the sandbox cannot be entered ({layer}: {source})")]
    Sandbox {
        /// The program as the caller wrote it.
        program: String,
        /// The layer that refused.
        layer: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A string for the system contains a NUL byte.
    #[error("{place} must be without null bytes")]
    Nul {
        /// The string with the NUL byte.
        place: NulPlace,
    },
    /// The system refused for another reason, such as a path without a file, too many arguments, a
    /// missing interpreter, or too little memory.
    #[error("{}: {}, posix_spawn '{program}'", code(.source), text(.source))]
    System {
        /// The program as the caller wrote it.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Location of a NUL byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NulPlace {
    /// In the program's name.
    Program,
    /// In the argument with this index; the first after the program is 0.
    Argument(usize),
    /// In the working directory.
    Cwd,
    /// In this variable of the environment.
    Variable(String),
}

impl std::fmt::Display for NulPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program => f.write_str("the program's name"),
            Self::Argument(index) => write!(f, "the argument 'args[{index}]'"),
            Self::Cwd => f.write_str("the working directory"),
            Self::Variable(name) => write!(f, "the variable '{}'", name.escape_debug()),
        }
    }
}

impl SpawnError {
    /// Returns the code as Node spells it: `ENOENT`, `EACCES`, `E2BIG`, `ERR_INVALID_ARG_VALUE`.
    pub fn code(&self) -> String {
        match self {
            Self::NotFound { .. } => "ENOENT".to_owned(),
            Self::PermissionDenied { .. }
            | Self::NotVerified { .. }
            | Self::Exposed { .. }
            | Self::Sandboxed { .. }
            | Self::SandboxNotMade { .. } => "EACCES".to_owned(),
            Self::NotPermitted { .. } => "NotCapable".to_owned(),
            Self::Nul { .. } => "ERR_INVALID_ARG_VALUE".to_owned(),
            Self::Cwd { source, .. }
            | Self::System { source, .. }
            | Self::Sandbox { source, .. } => code(source),
        }
    }
}
