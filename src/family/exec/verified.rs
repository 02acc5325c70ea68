//! Digests of the executables of a trusted project, and the errors for those that differ.

use crate::family::loading::shown_file;
use haft_config::Config;
use haft_discover::Candidate;
use haft_process::{NotVerified, SpawnError, Verified};
use haft_tool::{Error, ErrorKind};
use haft_tool::{Problem, TRUST_HINT};

/// Returns the digests that the program must have; `None` for programs of the user's own.
pub(super) fn verified(candidate: &Candidate, config: &Config) -> Option<Verified> {
    let files = candidate.verified.as_ref()?;
    let entry = files.entry(&candidate.resolved);
    Some(Verified {
        // This hash matches no file: an executable that is not in the grant does not run.
        digest: entry.map_or(blake3::Hash::from_bytes([0; 32]), |entry| entry.digest),
        project: files.project.clone(),
        state: config.state_dir.clone(),
    })
}

/// Error of a program that does not start because it is not what the user trusted.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    /// File of the program, below its project.
    file: String,
}

impl Refused {
    pub(super) fn of(candidate: &Candidate) -> Refused {
        Refused {
            file: shown_file(candidate),
        }
    }

    /// Returns the error of a call of the tool `name`, if that is the reason why its program did
    /// not start.
    pub(super) fn error(&self, name: &str, error: &SpawnError) -> Option<Error> {
        let (why, hint) = self.why(error)?;
        Some(Error::new(ErrorKind::Untrusted, format!("`{name}` {why}")).with_hint(hint))
    }

    /// Returns the problem of a program whose description is not requested for that reason.
    pub(super) fn problem(&self, candidate: &Candidate, error: &SpawnError) -> Option<Problem> {
        let (why, hint) = self.why(error)?;
        let problem = Problem::warning(format!("not loaded, because it {why}"));
        let problem = problem.at(&candidate.path).about(candidate.likely_name());
        Some(problem.hint(hint))
    }

    fn why(&self, error: &SpawnError) -> Option<(String, &'static str)> {
        let SpawnError::NotVerified { source, .. } = error else {
            return None;
        };
        let file = &self.file;
        let text = match source {
            NotVerified::Changed => {
                let text = format!("changed since you trusted it: {file} (changed)");
                return Some((text, TRUST_HINT));
            }
            other => format!("is not started: {file}: {other}"),
        };
        let hint = match source {
            NotVerified::InterpreterInProject(_) | NotVerified::InterpreterRelative(_) => {
                "name an interpreter that lies outside of the project in the script's first line"
            }
            NotVerified::InterpreterExposed(_) => {
                "correct the owner or the mode of what is named, or use another interpreter"
            }
            NotVerified::Copy(_) => "correct that folder, or let `HAFT_STATE_DIR` name another",
            NotVerified::Busy => "try again when it is whole",
            NotVerified::Changed | NotVerified::Unreadable(_) => TRUST_HINT,
        };
        Some((text, hint))
    }
}
