//! Writes a file atomically: a concurrent reader sees the old file or the new one.
//!
//! The bytes go into a hidden file beside it first, whose name no loader takes for a tool.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::system;

/// Handling of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// It is replaced. If it is a link, the link is replaced and not its target.
    Yes,
    /// It stays, and that is an error of kind `AlreadyExists`.
    No,
}

/// State of a file after a power loss right after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Complete. The write waits for the disk.
    Synced,
    /// Possibly missing or empty. For files that can be created again.
    Unsynced,
}

/// Writes `text` to `path` for the user's eyes: with the permissions of the file that is there, or
/// the usual ones.
pub fn write(path: &Path, text: &str, overwrite: Overwrite) -> io::Result<()> {
    let mut draft = draft(path, 0o666)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    if let Ok(old) = fs::symlink_metadata(path)
        && old.is_file()
    {
        draft.as_file().set_permissions(old.permissions())?;
    }
    let persisted = match overwrite {
        Overwrite::Yes => draft.persist(path),
        Overwrite::No => draft.persist_noclobber(path),
    };
    persisted.map(drop).map_err(|failed| failed.error)
}

/// Writes `bytes` to `path`, which only the user can read afterwards.
pub fn write_private(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut draft = draft(path, 0o600)?;
    draft.write_all(bytes)?;
    if durability == Durability::Synced {
        draft.as_file().sync_all()?;
    }
    draft.persist(path).map(drop).map_err(|failed| failed.error)
}

/// Creates a hidden file in the folder of `path`. It is removed when it is dropped.
fn draft(path: &Path, mode: u32) -> io::Result<NamedTempFile<File>> {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // `tempfile_in` would add the path of the hidden file to errors of the system.
    Builder::new()
        .prefix(&prefix)
        .make_in(folder, |path| system::create_new(path, mode))
}
