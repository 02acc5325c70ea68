//! Private files of haft: only their user can read them, and a reader never sees half of one.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

pub use crate::atomic_file::{Durability, write_private as replace};

/// Creates the folder for its user alone, and the folders above it with the usual permissions. An
/// existing folder stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Restricts a folder of the current user to that user. Earlier versions of haft created folders that
/// others can read.
pub fn restrict(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
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
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write to it"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or_default() + 1);
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}
