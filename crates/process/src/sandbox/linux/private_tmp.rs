//! Temporary folder of one sandbox, removed with it.
//!
//! A lock marks a folder in use. It ends with its process, so the folders of killed processes are
//! recognised, also those of processes in other containers that share the folder above.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use tempfile::TempDir;

use crate::GrantedPath;

const PREFIX: &str = "haft-tmp-";

/// Limit of the attempts to make a folder.
const ATTEMPTS: u32 = 5;

/// Temporary folder that only its user can enter.
#[derive(Debug)]
pub(super) struct PrivateTmp {
    folder: TempDir,
    real: GrantedPath,
    lock: Mutex<File>,
}

impl PrivateTmp {
    pub(super) fn new() -> io::Result<PrivateTmp> {
        static COLLECTED: Once = Once::new();
        let parent = std::env::temp_dir().canonicalize()?;
        COLLECTED.call_once(|| collect(&parent));
        let mut attempt = 1;
        loop {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(&parent)?;
            let made = locked(folder.path()).and_then(|lock| {
                let real = GrantedPath::without_links(folder.path());
                Ok((lock, real.map_err(io::Error::other)?))
            });
            match made {
                Ok((lock, real)) => {
                    return Ok(PrivateTmp {
                        folder,
                        real,
                        lock: Mutex::new(lock),
                    });
                }
                // The collector of another process found it before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &GrantedPath {
        &self.real
    }

    /// Makes the folder again if it was removed.
    ///
    /// # Errors
    /// If that fails, or something else is in its place.
    pub(super) fn restore(&self) -> io::Result<()> {
        let path = self.folder.path();
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => *lock = locked(path)?,
            // Another thread was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Removes the folder.
    pub(super) fn remove(&self) {
        // The lock is still held, so no collector interferes.
        let removed = fs::remove_dir_all(self.folder.path());
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, path = %self.real.as_path().display(), "a temporary folder is left");
        }
    }
}

fn locked(folder: &Path) -> io::Result<File> {
    let lock = File::open(folder)?;
    lock.lock()?;
    Ok(lock)
}

impl Drop for PrivateTmp {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the folders of processes that were killed.
fn collect(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = |name: &OsStr| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
        // Links are not followed: this is the entry itself.
        let is_ours = entry.metadata();
        let is_ours = is_ours.is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_named(&name) || !is_ours {
            continue;
        }
        let Ok(lock) = File::open(entry.path()) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            // What cannot be removed now is tried again by the next process.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
