//! Owners and modes of files.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::owners::FileAccess;

/// Returns the number of the user of this process.
pub(crate) fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the rights on an open file.
pub(crate) fn file_access(file: &File) -> io::Result<FileAccess> {
    file.metadata().map(|found| of(&found))
}

/// Returns the rights on the file or folder at `path`. Links are followed.
pub(crate) fn path_access(path: &Path) -> io::Result<FileAccess> {
    fs::metadata(path).map(|found| of(&found))
}

/// Returns the rights on the file, folder or link at `path` itself.
pub(crate) fn link_access(path: &Path) -> io::Result<FileAccess> {
    fs::symlink_metadata(path).map(|found| of(&found))
}

fn of(found: &Metadata) -> FileAccess {
    let owner = found.uid();
    FileAccess {
        is_ours: owner == current_user(),
        is_of_system: owner == 0,
        others_read: found.mode() & 0o044 != 0,
        others_write: found.mode() & 0o022 != 0,
        all_write: found.mode() & 0o002 != 0,
        others_any: found.mode() & 0o077 != 0,
    }
}
