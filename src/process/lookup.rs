//! Finds a program the way `execvp` does, but in the child's `PATH` and not in ours.
//!
//! The system's own search would use our `PATH`. A file that is found but may not be executed does
//! not end the search; only if nothing better comes does it become the answer.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

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

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    NotFound,
    NotExecutable,
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
