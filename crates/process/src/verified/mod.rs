//! Starts a program only if its file has the bytes that the user trusted.
//!
//! The backend of the system makes sure that the bytes which run are those that were hashed: by a
//! lease (Linux), by a private copy (macOS), or by a handle that excludes writers (Windows).
//!
//! The interpreter of a script reads it later and by path, so it gets a private copy.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use unix::ready;
#[cfg(windows)]
use windows::ready;

use crate::regular_files::Refused;
use crate::state_dir::{StateDir, StatePart};
use crate::system::Descriptor;
use crate::{GrantedPath, LinkBounds};

/// The content that a program must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The hash of the file that was trusted.
    pub digest: blake3::Hash,
    /// The project that the file belongs to. Interpreters of scripts must lie outside of it.
    pub project: PathBuf,
    /// The state directory, which has the copies of scripts.
    pub state: StateDir,
}

/// Reasons for which a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// The file has other bytes than the trusted ones.
    #[error("it changed since you trusted it")]
    Changed,
    /// The file is being written.
    #[error("somebody is still writing it")]
    Busy,
    /// The file cannot be hashed.
    #[error("{0}")]
    Unreadable(String),
    /// The interpreter lies in the project, where it can change.
    #[error("its interpreter `{0}` lies in the project, where it can change unnoticed")]
    InterpreterInProject(PathBuf),
    /// Other users can replace the interpreter.
    #[error("its interpreter is not safe: {0}")]
    InterpreterExposed(String),
    /// The interpreter is a relative path.
    #[error("its interpreter `{0}` is not an absolute path")]
    InterpreterRelative(String),
    /// The copy of the script cannot be made.
    #[error("the verified copy of the script cannot be made: {0}")]
    Copy(io::Error),
}

/// A verified program, ready to start.
pub(super) struct Ready {
    /// The file to execute.
    pub(super) file: PathBuf,
    /// The words before the call's arguments: the program's name, and for an interpreter also the
    /// script.
    pub(super) words: Vec<OsString>,
    /// The descriptor that `file` names and that the program is started from, or that excludes
    /// writers.
    pub(super) held: Option<Descriptor>,
}

/// Returns the name of the images of the script at `path`, and of their lock.
fn place_of(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// Makes the folder with the copies of the script at `path` and returns its path, for the sandbox of its
/// interpreter: the rules of a sandbox name existing folders only. It stays when the script changes.
///
/// # Errors
/// If it cannot be made, or is not believed.
pub fn make_images_of(state: &StateDir, path: &Path) -> io::Result<GrantedPath> {
    let images = state.folder(StatePart::Images);
    let made = images.make_subfolder(&place_of(path))?;
    // Links above the state directory are the user's own.
    let resolved = LinkBounds::new([]).resolve(&made);
    resolved.map_err(io::Error::other)
}

impl Verified {
    pub(super) fn compare(&self, found: &blake3::Hash) -> Result<(), NotVerified> {
        if *found == self.digest {
            Ok(())
        } else {
            Err(NotVerified::Changed)
        }
    }
}

pub(super) fn unreadable(error: Refused) -> NotVerified {
    NotVerified::Unreadable(error.to_string())
}

/// Verifies the program at `path`. `search` is the child's `PATH`.
pub(super) async fn verify(
    verified: Verified,
    path: PathBuf,
    search: Option<OsString>,
) -> Result<Ready, NotVerified> {
    // A large file takes a while to hash.
    let verify = move || ready(&verified, &path, search.as_deref());
    let answer = tokio::task::spawn_blocking(verify).await;
    answer.unwrap_or_else(|error| Err(NotVerified::Unreadable(error.to_string())))
}
