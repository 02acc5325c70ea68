//! Files as operations of tools reach them: by the path that was checked, and through no link.
//!
//! Deno compares a path with the permissions, and later the operation opens it again. A tool that
//! renames its own folders meanwhile would put a link in between. So a bounded access opens the
//! checked path, which has no links, without following any ([`Pin::Target`]), or the folder that
//! contains it ([`Pin::Entry`]), and then uses the descriptor. A link as the last part of a path is
//! followed where the operation follows links, and what it leads to is checked as well.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deno_core::normalize_path;
use deno_runtime::deno_fs::OpenOptions;
use deno_runtime::deno_io::fs::{FsError, FsResult};
use deno_runtime::deno_permissions::{CheckedPath, PathWithRequested};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use haft_process::granted_path::open_without_links;
use haft_tool::{AccessRule, AccessTarget, PermissionKind, PermissionProfile};

/// Folders of the kernel's files. Deno asks for every permission there.
const KERNEL: [&str; 2] = ["/proc", "/dev"];

/// Kind of access of an operation to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// Limits of the operations of one isolate on files.
#[derive(Clone, Debug)]
pub(super) struct FileBounds(Arc<PermissionProfile>);

/// Part of a path that an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pin {
    /// Path that is named, after a link as its last part.
    Target,
    /// The entry itself, which may be a link or missing.
    Entry,
}

/// Path of which no part can be exchanged as long as the value lives.
pub(super) struct PinnedPath {
    path: PathBuf,
    _descriptor: Option<OwnedFd>,
}

impl PinnedPath {
    pub(super) fn checked(&self) -> CheckedPath<'_> {
        CheckedPath::unsafe_new(Cow::Borrowed(&self.path))
    }
}

impl FileBounds {
    pub(super) fn new(permissions: Arc<PermissionProfile>) -> FileBounds {
        FileBounds(permissions)
    }

    /// Returns true if some paths are refused for this use, so that links matter.
    fn are_for(&self, path: &Path, what: Use) -> bool {
        self.0.of(kind_of(what)).is_bounded()
            && !KERNEL.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns the use for an operation that reads and writes: the one that is bounded.
    fn stricter(&self) -> Use {
        if self.0.write.is_bounded() {
            Use::Write
        } else {
            Use::Read
        }
    }

    /// Pins a checked path for an operation that takes a path.
    pub(super) fn pin(&self, path: &CheckedPath<'_>, what: Use, pin: Pin) -> FsResult<PinnedPath> {
        if !self.are_for(path, what) {
            return Ok(PinnedPath {
                path: path.to_path_buf(),
                _descriptor: None,
            });
        }
        let whole = |descriptor: &OwnedFd| PathBuf::from(descriptor_path(descriptor));
        let (descriptor, pinned) = match (pin, path.parent(), path.file_name()) {
            (Pin::Entry, Some(folder), Some(name)) => {
                let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
                let pinned = whole(&folder).join(name);
                (folder, pinned)
            }
            _ => {
                let target = self.target(path, what)?;
                let target = open(&target, OFlags::PATH, Mode::empty())?;
                let pinned = whole(&target);
                (target, pinned)
            }
        };
        Ok(PinnedPath {
            path: pinned,
            _descriptor: Some(descriptor),
        })
    }

    /// Pins the two entries of an operation that reads and writes.
    pub(super) fn pin_both(
        &self,
        from: &CheckedPath<'_>,
        to: &CheckedPath<'_>,
    ) -> FsResult<[PinnedPath; 2]> {
        for path in [from, to] {
            self.check_tree(path)?;
        }
        let what = self.stricter();
        Ok([
            self.pin(from, what, Pin::Entry)?,
            self.pin(to, what, Pin::Entry)?,
        ])
    }

    /// Opens a checked path. `None` if no bound applies to it, so that Deno opens it.
    pub(super) fn open(
        &self,
        path: &CheckedPath<'_>,
        options: OpenOptions,
        what: Use,
    ) -> FsResult<Option<fs::File>> {
        let is_read = options.read || !(options.write || options.append);
        let uses = [Use::Read, Use::Write];
        let uses = uses
            .into_iter()
            .filter(|one| *one == what || *one == Use::Read && is_read);
        let bounded: Vec<Use> = uses.filter(|one| self.are_for(path, *one)).collect();
        if bounded.is_empty() {
            return Ok(None);
        }
        let mut target = path.to_path_buf();
        for what in bounded {
            target = self.target(path, what)?;
        }
        let flags = flags_of(options)?;
        let is_created = flags.contains(OFlags::CREATE);
        let mode = Mode::from_raw_mode(options.mode.unwrap_or(0o666) & 0o777);
        let mode = if is_created { mode } else { Mode::empty() };
        Ok(Some(open(&target, flags, mode)?.into()))
    }

    /// Makes the folders that are missing on the way to a checked path, and the last one.
    pub(super) fn make_folders(&self, path: &CheckedPath<'_>, mode: Option<u32>) -> FsResult<bool> {
        if !self.are_for(path, Use::Write) {
            return Ok(false);
        }
        let mode = Mode::from_raw_mode(mode.unwrap_or(0o777) & 0o777);
        let into = OFlags::PATH | OFlags::DIRECTORY;
        let mut missing = Vec::new();
        let mut existing: &Path = path;
        let mut at = loop {
            match open(existing, into, Mode::empty()) {
                Ok(folder) => break folder,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
            missing.extend(existing.file_name());
            existing = existing.parent().ok_or(FsError::Io(Errno::NOENT.into()))?;
        };
        for name in missing.into_iter().rev() {
            match rustix::fs::mkdirat(&at, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let flags = into | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let next = rustix::fs::openat(&at, name, flags, Mode::empty());
            at = next.map_err(io::Error::from)?;
        }
        Ok(true)
    }

    /// Returns the real path of what a checked path names.
    fn target(&self, path: &CheckedPath<'_>, what: Use) -> FsResult<PathBuf> {
        let named: &PathWithRequested<'_> = path.as_ref();
        let is_link = if path.canonicalized() {
            // Deno has followed the last link after it had compared the path with the permissions.
            (named.requested.as_deref()).is_none_or(|before| !is_written_for(before, path))
        } else {
            fs::symlink_metadata(&**path).is_ok_and(|found| found.is_symlink())
        };
        if !is_link {
            return Ok(path.to_path_buf());
        }
        let target = if path.canonicalized() {
            path.to_path_buf()
        } else {
            path.canonicalize()?
        };
        self.check(&target, what)?;
        Ok(target)
    }

    /// Refuses to move a folder around a denied entry: below another name it would not be denied.
    fn check_tree(&self, real: &Path) -> FsResult<()> {
        for kind in [PermissionKind::Read, PermissionKind::Write] {
            let decision = self.0.decide(kind, AccessTarget::Tree(real));
            if let AccessRule::Denied(entry) = decision.rule {
                return Err(self.refusal(kind, Path::new(entry)));
            }
        }
        Ok(())
    }

    /// Refuses the real path of an access that the permissions do not grant.
    fn check(&self, real: &Path, what: Use) -> FsResult<()> {
        let kind = kind_of(what);
        if self.0.decide(kind, AccessTarget::Path(real)).is_granted() {
            return Ok(());
        }
        Err(self.refusal(kind, real))
    }

    /// Returns the error of a refused access, in the words of all refusals. An operation of Deno's
    /// that fails with its own permission error would lose the text.
    fn refusal(&self, kind: PermissionKind, real: &Path) -> FsError {
        let what = real.display().to_string();
        let mut denied = self.0.denied_refusals(kind, &what).into_iter();
        let denied = denied.find(|(entry, _)| real.starts_with(entry));
        let text = denied.map_or_else(|| self.0.refusal(kind, &what), |(_, text)| text);
        FsError::Io(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }
}

/// Returns true if a path is, as a text, the real path, so that no link was followed in it. A relative
/// one is kept as it was written. The file system is not asked: it may have changed meanwhile.
fn is_written_for(written: &str, real: &Path) -> bool {
    let folder = std::env::current_dir().unwrap_or_default();
    normalize_path(Cow::Owned(folder.join(written))) == real
}

fn kind_of(what: Use) -> PermissionKind {
    match what {
        Use::Read => PermissionKind::Read,
        Use::Write => PermissionKind::Write,
    }
}

/// Opens a real path. If a link was put into it a moment ago, the path that was checked does not exist
/// any more.
fn open(real: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let opened = open_without_links(real, flags | OFlags::CLOEXEC, mode);
    opened.map_err(
        |error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP) => Errno::NOENT.into(),
            _ => error,
        },
    )
}

fn descriptor_path(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// Returns the flags of the system for these options.
fn flags_of(options: OpenOptions) -> io::Result<OFlags> {
    let writes = options.write || options.append;
    let mut flags = match (options.read, writes) {
        (true, false) => OFlags::RDONLY,
        (false, true) => OFlags::WRONLY,
        (true, true) => OFlags::RDWR,
        (false, false) => return Err(Errno::INVAL.into()),
    };
    if options.truncate && !writes {
        return Err(Errno::INVAL.into());
    }
    flags.set(OFlags::APPEND, options.append);
    flags.set(OFlags::CREATE, options.create || options.create_new);
    flags.set(OFlags::EXCL, options.create_new);
    flags.set(OFlags::TRUNC, options.truncate && !options.create_new);
    let further = options.custom_flags.unwrap_or_default();
    let further = OFlags::from_bits_retain(further.cast_unsigned());
    Ok(flags | (further & !OFlags::RWMODE))
}
