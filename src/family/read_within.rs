//! Reads a file that must lie beneath a folder, whatever links and races there are.
//!
//! Both paths are canonicalised first, so that links within the folder work and links out of it are
//! detected. The path can change between that and the open. Therefore the canonical path is then
//! walked component by component from the folder's descriptor, and no step follows a link. The
//! checks look at the opened file and not at its path: a pipe or device is refused without waiting
//! for it. Of a file that grows, no more than the limit is read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use haft_config::paths;
use haft_tool::{AccessTarget, PermissionKind, PermissionProfile};

/// Reason why a file cannot be read.
pub(crate) enum Refused {
    /// It is not inside the folder.
    Outside,
    /// The file does not exist.
    Missing,
    /// It is not a regular file; the field says what it is instead.
    NotAFile(&'static str),
    /// It is larger than the limit. The size is there if it is known beforehand.
    TooLarge(Option<u64>),
    /// The folder itself cannot be used.
    Base(io::Error),
    /// Any other error of the system.
    System(io::Error),
}

impl Refused {
    /// Returns the message for the caller that requested `asked`.
    pub(crate) fn text(&self, base: &Path, asked: &str, max: u64) -> String {
        match self {
            Refused::Outside => {
                format!("Path traversal detected: {asked} resolves outside base path")
            }
            Refused::Missing => format!("File not found: {asked}"),
            Refused::NotAFile(what) => format!("Not a regular file: {asked} is {what}"),
            Refused::TooLarge(Some(size)) => {
                format!("File size ({size} bytes) exceeds maximum allowed size ({max} bytes)")
            }
            Refused::TooLarge(None) => format!(
                "File size (more than {max} bytes) exceeds maximum allowed size ({max} bytes)"
            ),
            Refused::Base(error) => {
                format!(
                    "Cannot use base path {}: {}",
                    base.display(),
                    paths::plain(error)
                )
            }
            Refused::System(error) => format!("Cannot read {asked}: {}", paths::plain(error)),
        }
    }
}

/// Returns the reason why these permissions forbid reading `asked`; `None` if they allow it.
pub(crate) fn refusal(base: &Path, asked: &str, permissions: &PermissionProfile) -> Option<String> {
    let named = paths::resolve(base, Path::new(asked));
    let real = named.canonicalize().unwrap_or(named);
    let decision = permissions.decide(PermissionKind::Read, AccessTarget::Path(&real));
    let is_granted = decision.is_granted();
    (!is_granted).then(|| permissions.refusal(PermissionKind::Read, &real.display().to_string()))
}

/// Reads `asked`, which may be relative to `base` or absolute; at most `max` bytes. Blocks.
pub(crate) fn read(base: &Path, asked: &str, max: u64) -> Result<Vec<u8>, Refused> {
    let real_base = base.canonicalize().map_err(Refused::Base)?;
    // Lexical check first: a path that leaves the folder by its text is not looked up at all.
    let named = paths::resolve(base, Path::new(asked));
    if !named.starts_with(base) && !named.starts_with(&real_base) {
        return Err(Refused::Outside);
    }
    let real = named.canonicalize().map_err(missing_or)?;
    let inside = real
        .strip_prefix(&real_base)
        .map_err(|_| Refused::Outside)?;
    // Opening a named pipe for reading, even without waiting, wakes up a process that waits to
    // write to it.
    let kind = std::fs::symlink_metadata(&real).map_err(missing_or)?;
    regular(FileType::from_raw_mode(mode_of(&kind)))?;
    read_all(walk(&real_base, inside)?, max)
}

fn mode_of(found: &std::fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    found.mode()
}

/// Opens `inside`, starting at `base`. A component that is a link was not one a moment ago.
fn walk(base: &Path, inside: &Path) -> Result<OwnedFd, Refused> {
    let step = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let into = step | OFlags::PATH | OFlags::DIRECTORY;
    let mut at =
        openat(CWD, base, into, Mode::empty()).map_err(|errno| Refused::Base(errno.into()))?;
    let parts: Vec<&OsStr> = inside
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let Some((file, folders)) = parts.split_last() else {
        return Err(Refused::NotAFile("a directory"));
    };
    for folder in folders {
        at = openat(&at, *folder, into, Mode::empty()).map_err(swapped_or)?;
    }
    let for_reading = step | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    openat(&at, *file, for_reading, Mode::empty()).map_err(swapped_or)
}

fn read_all(file: OwnedFd, max: u64) -> Result<Vec<u8>, Refused> {
    let found = fstat(&file).map_err(|errno| Refused::System(errno.into()))?;
    regular(FileType::from_raw_mode(found.st_mode))?;
    let size = u64::try_from(found.st_size).unwrap_or_default();
    if size > max {
        return Err(Refused::TooLarge(Some(size)));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // One byte more than the limit shows that the file grew or that its size is wrong, as below
    // /proc.
    let mut limited = File::from(file).take(max.saturating_add(1));
    limited.read_to_end(&mut bytes).map_err(Refused::System)?;
    if bytes.len() as u64 > max {
        return Err(Refused::TooLarge(None));
    }
    Ok(bytes)
}

fn regular(kind: FileType) -> Result<(), Refused> {
    Err(Refused::NotAFile(match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }))
}

fn missing_or(error: io::Error) -> Refused {
    if paths::is_missing(&error) {
        Refused::Missing
    } else {
        Refused::System(error)
    }
}

fn swapped_or(errno: Errno) -> Refused {
    match errno {
        // A link where there was none a moment ago: another process replaces the path while we
        // read.
        Errno::LOOP | Errno::NOTDIR => Refused::Outside,
        errno => missing_or(errno.into()),
    }
}

/// Resolves `given` as a folder: `~` is the home, relative paths start at the project.
pub(crate) fn folder(given: &str, project: &Path, home: &Path) -> PathBuf {
    let given = match given.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => paths::join(home, rest),
        _ => PathBuf::from(given),
    };
    paths::resolve(project, &given)
}
