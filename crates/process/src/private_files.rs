//! Private files of haft: only their user can read them, and a reader never sees half of one.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

pub use crate::atomic_file::{Durability, write_private as replace};
use crate::owners::FileAccess;
use crate::system;

/// Creates the folder for its user alone, and the folders above it with the usual permissions. An
/// existing folder stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match system::create_private_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Creates a folder that only its user can enter, or checks an existing one.
///
/// # Errors
/// If others could read it or put files there.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    make_folder(folder)?;
    check_folder(folder)
}

/// Checks that only its user can enter a folder. A link is refused.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(folder)?.is_dir();
    let access = FileAccess::of_link(folder)?;
    if is_folder && access.is_ours && !access.others_any {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "`{}` is not a folder that only its user can enter (mode 0700)",
        folder.display()
    )))
}

/// Restricts a folder of the current user to that user. Earlier versions of haft created folders that
/// others can read.
pub fn restrict(folder: &Path) -> io::Result<()> {
    let access = FileAccess::of(folder)?;
    if access.is_ours && access.others_any {
        system::restrict(folder)
    } else {
        Ok(())
    }
}

/// Returns the bytes of a file that only its user can have written.
///
/// # Errors
/// If it cannot be read, has more than `max_bytes` bytes, is not a file, or others may write to it.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let file = File::open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > max_bytes {
        return Err(io::Error::other("it is too large"));
    }
    let access = FileAccess::of_file(&file)?;
    if !access.is_ours || access.others_write {
        return Err(io::Error::other("others may write to it"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or_default() + 1);
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}
