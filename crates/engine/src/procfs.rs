//! Refuses file functions of tools where procfs leads into the host.
//!
//! `/proc/self/fd/3` is the host's private standard output, and `/proc/self/mem` its memory.
//! Whatever the permissions allow, a tool may not
//! - follow a magic link (`/proc/PID/fd/N`, also as `/dev/stdout`) to anything but a file that has
//!   a name, which it could open by that name, and never to write;
//! - write to procfs at all (`oom_score_adj`, `comm`, `mem`, `sysctl`);
//! - read the memory of a process.
//!
//! The checks apply to the opened file, so links, `..`, other mounts and names like `thread-self`
//! make no difference. [`check`] runs before an operation. [`check_opened`] checks the opened file,
//! in case the path changes in between.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstat, fstatfs, openat, openat2,
};
use rustix::io::Errno;

/// Kind of access of an operation to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// Files of procfs that hold the memory of a process or of the system.
const MEMORY: [&str; 4] = ["mem", "kcore", "kmem", "pagemap"];

/// Usual mount point of procfs. Files of procfs elsewhere cannot be distinguished, so they are
/// refused.
const PROC: &str = "/proc";

/// Magic numbers of the kernel's anonymous file systems: pipes, sockets, and the files of `epoll`
/// and the like. They have no path, so opening one by a path went through another descriptor.
const ANONYMOUS: [i64; 3] = [0x5049_5045, 0x534f_434b, 0x0904_1934];

/// The device number of `/dev/null`, which standard input of a tool is.
const NULL_DEVICE: (u32, u32) = (1, 3);

/// Refuses an access to the file at `path`, if the path leads into the host. A path that cannot be
/// opened passes: the operation itself reports that error.
pub(super) fn check(path: &Path, what: Use) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
        Ok(found) => check_named(found.as_fd(), path, what),
        // A magic link, or a circle of links.
        Err(Errno::LOOP) => match openat(CWD, path, flags, Mode::empty()) {
            Ok(found) => check_magic(&found, path, what),
            Err(Errno::LOOP) => Ok(()),
            // The path names a file to be created beyond a magic link.
            Err(_) => Err(refused(path)),
        },
        // Kernels before 5.6 and some filters of system calls do not support `openat2`.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            match openat(CWD, path, flags, Mode::empty()) {
                Ok(found) => check_unresolved(&found, path, what),
                Err(_) => Ok(()),
            }
        }
        Err(_) => Ok(()),
    }
}

/// Does the same for a file that was opened.
pub(super) fn check_opened(file: BorrowedFd<'_>, path: &Path, what: Use) -> io::Result<()> {
    let is_anonymous = fstatfs(file).is_ok_and(|found| is_anonymous(found.f_type));
    if is_anonymous {
        Err(refused(path))
    } else {
        check_named(file, path, what)
    }
}

/// Checks a file that was reached without a magic link.
fn check_named(file: BorrowedFd<'_>, path: &Path, what: Use) -> io::Result<()> {
    if !is_procfs(file) {
        return Ok(());
    }
    let place = place_of(file);
    let name = place.as_deref().and_then(Path::file_name);
    let name = name.and_then(|name| name.to_str()).unwrap_or_default();
    let is_known = place.as_ref().is_some_and(|place| place.starts_with(PROC));
    if what == Use::Read && is_known && !MEMORY.contains(&name) {
        Ok(())
    } else {
        Err(refused(path))
    }
}

/// Checks a file that was reached through a magic link.
fn check_magic(file: &OwnedFd, path: &Path, what: Use) -> io::Result<()> {
    let found = fstat(file)?;
    let kind = FileType::from_raw_mode(found.st_mode);
    let has_name = match kind {
        FileType::RegularFile | FileType::Directory => found.st_nlink > 0,
        FileType::CharacterDevice => {
            let device = (
                rustix::fs::major(found.st_rdev),
                rustix::fs::minor(found.st_rdev),
            );
            device == NULL_DEVICE
        }
        _ => false,
    };
    if has_name && what == Use::Read {
        check_named(file.as_fd(), path, what)
    } else {
        Err(refused(path))
    }
}

/// Checks a file for which the kernel does not report if a magic link led to it.
fn check_unresolved(file: &OwnedFd, path: &Path, what: Use) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
    let link = fs::canonicalize(path).unwrap_or(parent);
    let is_magic = link.starts_with(PROC) || fstatfs(file).is_ok_and(|it| is_anonymous(it.f_type));
    if is_magic && !is_procfs(file.as_fd()) {
        check_magic(file, path, what)
    } else {
        check_named(file.as_fd(), path, what)
    }
}

fn is_procfs(file: BorrowedFd<'_>) -> bool {
    fstatfs(file).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
}

#[allow(clippy::unnecessary_cast, reason = "its type differs between targets")]
fn is_anonymous(kind: rustix::fs::FsWord) -> bool {
    ANONYMOUS.contains(&(kind as i64))
}

fn place_of(file: BorrowedFd<'_>) -> Option<PathBuf> {
    fs::read_link(format!("{PROC}/self/fd/{}", file.as_raw_fd())).ok()
}

fn refused(path: &Path) -> io::Error {
    let text = format!(
        "'{}' leads into the process of the host, which is closed to tools",
        path.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}
