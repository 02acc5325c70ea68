//! Private files of haft: only their user can read them, and a reader never sees half of one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

/// State of a file after a power loss right after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// All of it, at the price of waiting for the disk.
    Synced,
    /// Perhaps nothing: it can be made again.
    Remade,
}

/// Makes the folder for its user alone, and those above it as usual. One that is there stays as it is.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Takes the folder from everyone but its user, if it is ours: one that an earlier version made is readable
/// for others.
pub(crate) fn restrict(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
    } else {
        Ok(())
    }
}

/// Readers see the old file or the new one, and two writers do not mix.
pub(crate) fn replace(path: &Path, bytes: &[u8], lasting: Lasting) -> io::Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    let aside = path.with_extension(format!("{}-{now:x}.new", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&aside)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            match lasting {
                Lasting::Synced => file.sync_all(),
                Lasting::Remade => Ok(()),
            }
        })
        .and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        // What could not be written is of no use; that it stays there is not the error to tell.
        let _ = fs::remove_file(&aside);
    }
    written
}

/// The bytes of a file that only its user can have written.
///
/// # Errors
/// If it cannot be read, is longer than `largest` bytes, is no file, or others may write to it.
pub(crate) fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    // A pipe would block us for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let file = File::open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > largest {
        return Err(io::Error::other("it is no file of ours"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write to it"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or_default() + 1);
    file.take(largest).read_to_end(&mut bytes)?;
    Ok(bytes)
}
