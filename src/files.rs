//! Puts a file in its place, whole or not at all.
//!
//! A concurrent reader sees the old file or the new one. The text goes into a hidden file
//! beside it first, whose name no loader takes for a tool.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Handling of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacing {
    /// It is replaced. Of a link the link, never what it points to.
    Yes,
    /// It stays, and that is an error of kind `AlreadyExists`.
    No,
}

/// Writes `text` to `path`.
pub(crate) fn put(path: &Path, text: &str, replacing: Replacing) -> io::Result<()> {
    let (mut file, draft) = beside(path)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| match fs::symlink_metadata(path) {
            // Who may read the old file may read the new one.
            Ok(old) if old.is_file() => file.set_permissions(old.permissions()),
            _ => Ok(()),
        })
        .and_then(|()| match replacing {
            Replacing::Yes => fs::rename(&draft, path),
            Replacing::No => rename_to_new(&draft, path),
        });
    if written.is_err() {
        // Nothing more can be done about a file that does not go away.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn rename_to_new(draft: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
        // Some file systems cannot; a second name for the file is as exclusive.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(draft, path)?;
            fs::remove_file(draft)
        }
        done => Ok(done?),
    }
}

/// A new file in the same folder.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for attempt in 0..100u32 {
        let draft = path.with_file_name(format!(".{name}.{}.{attempt}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((opened?, draft)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
