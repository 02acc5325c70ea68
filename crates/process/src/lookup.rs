//! Finds a program as `execvp` does, but in the child's `PATH` instead of ours.
//!
//! The system's own search would use our `PATH`. A file that may not be executed does not end the
//! search. It is only reported if no executable file is found.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::owners;
use crate::system::{self, DEFAULT_PATH};

/// Returns true if a child with our environment would find the program.
pub fn is_installed(program: &str) -> bool {
    find_installed(program).is_some()
}

/// Returns the file that a child with our environment would run for this name.
pub fn find_installed(program: &str) -> Option<PathBuf> {
    let path = super::inherited("PATH").map(OsString::from);
    find(OsStr::new(program), path.as_deref(), Path::new("/")).ok()
}

/// Finds the file to start for a name that neither a tool nor the user chose: the first on our
/// `PATH` that other users cannot replace.
///
/// # Errors
/// Returns the reason if other users can replace all candidates; `None` if no candidate exists.
pub fn find_safe(program: &str) -> Result<PathBuf, Option<String>> {
    let path = super::inherited("PATH").map(OsString::from);
    safe(OsStr::new(program), path.as_deref()).map_err(|miss| match miss {
        Miss::Exposed(why) => Some(why),
        Miss::NotFound | Miss::NotExecutable => None,
    })
}

/// Finds the first program of this name in `path` that other users cannot replace. Relative folders
/// are skipped, because they belong to the project.
pub(super) fn safe(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Miss> {
    let path = path.map_or_else(|| OsString::from(DEFAULT_PATH), OsString::from);
    let mut miss = Miss::NotFound;
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        let Ok(found) = find(program, Some(folder.as_os_str()), Path::new("/")) else {
            continue;
        };
        match owners::check(&found) {
            Ok(()) => return Ok(found),
            Err(exposed) => {
                tracing::warn!(%exposed, program = %found.display(), "not started");
                miss = Miss::Exposed(exposed.to_string());
            }
        }
    }
    Err(miss)
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    NotFound,
    NotExecutable,
    /// Another user can replace the program, for this reason.
    Exposed(String),
}

/// Finds the file to execute. A program with a folder is returned unchanged: the system resolves it in
/// the child's working directory and reports its errors.
pub(super) fn find(program: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, Miss> {
    if system::is_path(program) {
        return Ok(PathBuf::from(program));
    }
    if program.is_empty() {
        return Err(Miss::NotFound);
    }
    let mut miss = Miss::NotFound;
    let path = path.map_or_else(|| OsString::from(DEFAULT_PATH), OsString::from);
    for folder in std::env::split_paths(&path) {
        let folder = cwd.join(folder);
        for name in system::file_names(program) {
            let candidate = folder.join(name);
            let allowed = system::may_execute(&candidate);
            let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            if allowed.as_ref().is_err_and(is_missing) || !candidate.is_file() {
                continue;
            }
            if allowed.is_ok() {
                return Ok(candidate);
            }
            miss = Miss::NotExecutable;
        }
    }
    Err(miss)
}
