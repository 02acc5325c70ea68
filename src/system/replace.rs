//! Replaces the content of a file atomically: a reader sees the old or the new one, never half of
//! it.
//!
//! The content goes to a new file beside the old one, which then takes its name, permissions and
//! owner. A link stays a link; its target is replaced. Where that is impossible, the file is
//! written in place, as an editor would: in a folder that we may not write to, for a file mounted
//! into a container, for an owner that we cannot set. Nothing is synced to the disk: this guards
//! against readers and interruptions, not against a power cut.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::stop::{Failure, plain};

/// Limit of links in a chain, the same as Linux has.
const LINKS: usize = 40;

pub fn replace(path: &str, content: &[u8]) -> Result<(), Failure> {
    let target = behind_links(Path::new(path)).map_err(|error| Failure::opening(path, &error))?;
    let old = match fs::metadata(&target) {
        Ok(found) if found.is_dir() => {
            return Err(Failure::new(
                "OPEN_FAILED",
                format!("Is a directory: {path}"),
            ));
        }
        Ok(found) if !found.is_file() => {
            let message = format!("Not a regular file: {path}");
            return Err(Failure::new("OPEN_FAILED", message));
        }
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(path, &error)),
    };
    let written = match &old {
        None => swap(&target, None, content),
        Some(found) => {
            // Otherwise a new file could replace one that we may not write to.
            rustix::fs::access(&target, Access::WRITE_OK)
                .map_err(|errno| Failure::opening(path, &errno.into()))?;
            swap(&target, Some(found), content).or_else(|error| {
                if needs_its_place(&error) {
                    in_place(&target, content)
                } else {
                    Err(error)
                }
            })
        }
    };
    written.map_err(|error| failed(path, &error))
}

fn failed(path: &str, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Failure::new("NO_SPACE", format!("No space left on device: {path}"))
        }
        // A missing file is created, but not its folder.
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            let message = format!("Cannot open file: {path} (its directory does not exist)");
            Failure::new("OPEN_FAILED", message)
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Failure::opening(path, error)
        }
        _ => Failure::new(
            "WRITE_FAILED",
            format!("Failed to write file: {path} ({})", plain(error)),
        ),
    }
}

/// Returns the file at the end of a chain of links, which may not exist.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let is_link = fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink());
        if !is_link {
            return Ok(target);
        }
        let named = fs::read_link(&target)?;
        target = match target.parent() {
            Some(folder) => folder.join(named),
            None => named,
        };
    }
    Err(io::Error::other("too many links after another"))
}

/// Returns true if the folder, the mount or the owner prevents a replacement, and not the file.
fn needs_its_place(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::ResourceBusy
            | ErrorKind::CrossesDevices
    )
}

fn in_place(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(target)?;
    file.write_all(content)
}

fn swap(target: &Path, old: Option<&Metadata>, content: &[u8]) -> io::Result<()> {
    let (mut file, beside) = beside(target)?;
    let written = file
        .write_all(content)
        .and_then(|()| old.map_or(Ok(()), |old| make_alike(&file, old)))
        .and_then(|()| fs::rename(&beside, target));
    if written.is_err() {
        // The first error is the cause; a failed removal of our file would only hide it.
        drop(fs::remove_file(&beside));
    }
    written
}

/// Creates a new file in the same folder. Its name is short, because the target's may already have
/// the maximal length.
fn beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let mut number = std::process::id();
    loop {
        let path = target.with_file_name(format!(".haft-{number}.tmp"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number = number.wrapping_add(1);
            }
            opened => return opened.map(|file| (file, path)),
        }
    }
}

fn make_alike(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    // After the owner: a change of owner takes away the set-user-id bit.
    file.set_permissions(old.permissions())
}
