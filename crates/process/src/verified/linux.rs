//! Starts a verified program from the descriptor through which it was hashed (`/proc/self/fd/N`).
//!
//! A read lease blocks every writer from before the hash until the program has started, so the bytes
//! cannot change in between. From then on the kernel refuses to write to a running program. If the
//! system grants no lease, a sealed copy in memory is hashed and executed instead.

#![expect(
    unsafe_code,
    reason = "a lease is set by two calls of `fcntl` that no safe crate wraps"
)]

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::{NotVerified, Ready, Verified, unreadable};
use crate::regular_files;

/// The lowest number of a descriptor that a program is started from.
const FIRST_DESCRIPTOR: i32 = 10;

/// The last pause before a file that is being written counts as busy.
const LAST_BUSY_PAUSE: Duration = Duration::from_millis(32);

/// Command of `fcntl` that chooses the signal of a lease (fcntl(2)). `libc` has no name for it.
const F_SETSIG: i32 = 10;

/// Verifies the program in an open file that is not a script.
pub(crate) fn ready(verified: &Verified, path: &Path, file: File) -> Result<Ready, NotVerified> {
    let mut file = above_streams(file.into())?;
    if !take_lease(&file)? {
        file = sealed_copy(&mut file)?;
    }
    verified.compare(&regular_files::hash_open(&mut file).map_err(unreadable)?)?;
    Ok(Ready {
        file: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        words: vec![path.into()],
        held: Some(file.into()),
    })
}

/// Duplicates a descriptor to a number above those of the child's streams.
fn above_streams(file: OwnedFd) -> Result<File, NotVerified> {
    rustix::io::fcntl_dupfd_cloexec(&file, FIRST_DESCRIPTOR)
        .map(File::from)
        .map_err(|error| NotVerified::Unreadable(io::Error::from(error).to_string()))
}

/// Takes a read lease. A writer that opens the file while the lease is held must wait, and we get a
/// signal that has no effect. Waits a moment if the file is being written. Returns false if the
/// system grants no lease: the file belongs to another user, or its file system has no leases.
fn take_lease(file: &File) -> Result<bool, NotVerified> {
    let mut pause = Duration::from_millis(1);
    loop {
        match set_lease(file) {
            Ok(()) => return Ok(true),
            Err(Errno::EAGAIN) if pause > LAST_BUSY_PAUSE => return Err(NotVerified::Busy),
            Err(Errno::EAGAIN) => std::thread::sleep(pause),
            Err(_) => return Ok(false),
        }
        pause *= 2;
    }
}

fn set_lease(file: &File) -> Result<(), Errno> {
    let descriptor = file.as_raw_fd();
    // SAFETY: both calls take numbers only, and the descriptor is open.
    let result = unsafe {
        // The default signal, SIGIO, would end the process.
        match nix::libc::fcntl(descriptor, F_SETSIG, nix::libc::SIGURG) {
            0 => nix::libc::fcntl(descriptor, nix::libc::F_SETLEASE, nix::libc::F_RDLCK),
            failed => failed,
        }
    };
    Errno::result(result).map(drop)
}

/// Returns a sealed copy in memory, which cannot be changed.
fn sealed_copy(file: &mut File) -> Result<File, NotVerified> {
    let bytes = regular_files::read_open(file, regular_files::MAX_HASHED_BYTES);
    let bytes = bytes.map_err(unreadable)?;
    let copied = || -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut copy = File::from(memfd_create("haft-verified", flags)?);
        copy.write_all(&bytes)?;
        let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&copy, all)?;
        copy.rewind()?;
        Ok(copy.into())
    };
    above_streams(copied().map_err(NotVerified::Copy)?)
}
