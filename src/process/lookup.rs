//! Finds a program the way `execvp` does, but in the child's `PATH` and not in ours.
//!
//! The system's own search would use our `PATH`. A file that is found but may not be executed does
//! not end the search; only if nothing better comes does it become the answer.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::owners;

/// What is searched where a child has no `PATH` at all.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether a child with our environment would find the program.
pub fn is_installed(program: &str) -> bool {
    find_installed(program).is_some()
}

/// The file that a child with our environment would run for this name.
pub fn find_installed(program: &str) -> Option<PathBuf> {
    let path = super::inherited("PATH").map(OsString::from);
    find(OsStr::new(program), path.as_deref(), Path::new("/")).ok()
}

/// The file that haft starts for a name that neither a tool nor the user chose: the first on our `PATH`
/// that no other user can replace.
///
/// # Errors
/// With the reason if others can replace all of them; `None` if there is none.
pub fn find_safe(program: &str) -> Result<PathBuf, Option<String>> {
    let path = super::inherited("PATH").map(OsString::from);
    safe(OsStr::new(program), path.as_deref()).map_err(|miss| match miss {
        Miss::Exposed(why) => Some(why),
        Miss::NotFound | Miss::NotExecutable => None,
    })
}

/// The first program of this name in `path` that no other user can replace. Relative folders do not
/// count: they are those of the project.
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
    /// Another user can replace it, for this reason.
    Exposed(String),
}

/// The file to execute. A program with a `/` is taken as it is: the system answers for it, and
/// resolves it in the child's working directory.
pub(super) fn find(program: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, Miss> {
    if program.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(program));
    }
    if program.is_empty() {
        return Err(Miss::NotFound);
    }
    let mut miss = Miss::NotFound;
    let path = path.map_or_else(|| OsString::from(DEFAULT_PATH), OsString::from);
    for folder in std::env::split_paths(&path) {
        let candidate = cwd.join(folder).join(program);
        let allowed = access(&candidate, Access::EXEC_OK);
        if allowed == Err(Errno::NOENT) || !candidate.is_file() {
            continue;
        }
        if allowed.is_ok() {
            return Ok(candidate);
        }
        miss = Miss::NotExecutable;
    }
    Err(miss)
}
