//! Makes one namespace, by a process that lives for a moment.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use rustix::fs::{Mode, OFlags};

use super::start::{reap, vfork};

/// Makes a namespace, in the user namespace `user` if that is given, and returns its descriptor.
/// `path` is that of the namespace in its process.
pub(super) fn make(
    user: Option<BorrowedFd<'_>>,
    kind: CloneFlags,
    path: &std::ffi::CStr,
) -> io::Result<OwnedFd> {
    make_with(user, kind, path, || Ok(()), |_| Ok(()))
}

/// Makes a namespace as [`make`] does. `prepare` runs in it, and then `check` with its descriptor; they
/// allocate nothing.
pub(super) fn make_with(
    user: Option<BorrowedFd<'_>>,
    kind: CloneFlags,
    path: &std::ffi::CStr,
    prepare: impl Fn() -> Result<(), Errno>,
    check: impl Fn(BorrowedFd<'_>) -> Result<(), Errno>,
) -> io::Result<OwnedFd> {
    let made = AtomicI32::new(-libc::EIO);
    let steps = || -> Result<RawFd, Errno> {
        if let Some(user) = user {
            setns(user, CloneFlags::CLONE_NEWUSER)?;
        }
        unshare(kind)?;
        prepare()?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| Errno::from_raw(error.raw_os_error()))?;
        check(file.as_fd())?;
        Ok(std::os::fd::IntoRawFd::into_raw_fd(file))
    };
    // The descriptor is opened in our table. Nothing else is changed of ours.
    let pid = vfork(CloneFlags::CLONE_FILES, || {
        let descriptor = steps().unwrap_or_else(|errno| -(errno as i32));
        made.store(descriptor, Ordering::Relaxed);
        0
    })?;
    reap(pid);
    let made = made.into_inner();
    if made < 0 {
        return Err(io::Error::from_raw_os_error(-made));
    }
    #[allow(unsafe_code, reason = "the descriptor comes from another process")]
    // SAFETY: it was opened for us just now, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}
