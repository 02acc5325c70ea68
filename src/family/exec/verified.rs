//! Errors for programs of a trusted project that are not what the user trusted.

use crate::family::loading::shown_file;
use haft_discover::Candidate;
use haft_process::{NotVerified, SpawnError};
use haft_tool::{Error, ErrorKind};
use haft_tool::{Problem, TRUST_HINT};

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
            NotVerified::InterpreterUnknown(_) => {
                "begin the script with `#!/usr/bin/env NAME`, or with the path of an interpreter and \
                 at most one option that only changes how it runs the script"
            }
            NotVerified::InterpreterMissing(name) if name.ends_with('\r') => {
                "save it with Unix line ends"
            }
            NotVerified::InterpreterMissing(_) => {
                "correct its first line, or install the interpreter"
            }
            NotVerified::InterpreterExposed(_) => {
                "correct the owner or the mode of what is named, or use another interpreter"
            }
            NotVerified::Copy(_) => "correct that folder, or let `HAFT_STATE_DIR` name another",
            NotVerified::Busy => "try again when it is whole",
            NotVerified::LeadsOut(_) => "name the file itself, or copy it into the project",
            NotVerified::ProgramInProject(..) => {
                "name the program by its path in the project, or put another folder first on `PATH`"
            }
            NotVerified::Changed
            | NotVerified::Unreadable(_)
            | NotVerified::Unlisted(_)
            | NotVerified::FileChanged(_)
            | NotVerified::ProgramMissing(_)
            | NotVerified::ProgramNotExecutable(_) => TRUST_HINT,
        };
        Some((text, hint))
    }
}
