//! Checks that no other user of the machine can replace a file: programs that haft starts by its own
//! choice, and the files with the user's grants.
//!
//! A file is as safe as every folder on the way to it, and as every link. Each must belong to root or
//! to this user, and no other user may write to it. Two exceptions, as in OpenSSH: a folder with the sticky bit
//! (`/tmp`), whose entries only their owners replace, and a group that has no other member.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::places;
#[cfg(unix)]
use unix::{check_owners, file_access, link_access, path_access};
#[cfg(windows)]
use windows::{check_owners, file_access, link_access, path_access};
#[cfg(windows)]
pub(crate) use windows::{create_private_folder, restrict};

/// Path that another user could replace, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason.
    pub why: Why,
}

/// Reason for which others can replace a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It belongs to another user.
    Owner(u32),
    /// Every user may write to it.
    Everybody,
    /// The members of a group may write to it.
    Group(u32),
    /// It belongs to another user of Windows.
    Foreign,
    /// Other users of Windows may replace it.
    Others,
    /// It cannot be looked at.
    Unknown(String),
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Owner(user) => write!(f, "`{path}` belongs to user {user}"),
            Why::Everybody => write!(f, "everybody may write to `{path}`"),
            Why::Group(group) => write!(f, "group {group} may write to `{path}`"),
            Why::Foreign => write!(f, "`{path}` belongs to another user"),
            Why::Others => write!(f, "other users may replace `{path}`"),
            Why::Unknown(error) => write!(f, "`{path}` cannot be looked at: {error}"),
        }
    }
}

/// Checks the file at `path`, an absolute path, every folder above it and every link on the way.
///
/// # Errors
/// With the first that another user could replace.
pub fn check(path: &Path) -> Result<(), Exposed> {
    check_owners(path)
}

/// Rights on one file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// True if it belongs to the user of this process.
    pub is_ours: bool,
    /// True if it belongs to root, or to the system or the administrators of Windows.
    pub is_of_system: bool,
    /// True if other users may read it.
    pub others_read: bool,
    /// True if other users may write to it.
    pub others_write: bool,
    /// True if every user may write to it.
    pub all_write: bool,
    /// True if other users have any right on it.
    pub others_any: bool,
}

impl FileAccess {
    /// Returns the rights on a file or folder. Links are followed.
    pub fn of(path: &Path) -> io::Result<FileAccess> {
        path_access(path)
    }

    /// Returns the rights on a file, a folder or a link itself.
    pub fn of_link(path: &Path) -> io::Result<FileAccess> {
        link_access(path)
    }

    /// Returns the rights on an open file.
    pub fn of_file(file: &File) -> io::Result<FileAccess> {
        file_access(file)
    }
}
