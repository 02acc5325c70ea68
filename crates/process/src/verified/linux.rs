//! Starts a verified program from the descriptor through which it was hashed (`/proc/self/fd/N`).
//!
//! A read lease blocks every writer from before the hash until the program has started, so the bytes
//! cannot change in between. From then on the kernel refuses to write to a running program. If the
//! system grants no lease, a sealed copy in memory is hashed and executed instead.

#![expect(
    unsafe_code,
    reason = "a lease is set by two calls of `fcntl` that no safe crate wraps"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::{NativeProgram, NotVerified, ProjectScope, VerifiedFile, VerifiedProgram, unreadable};
use crate::regular_files;

/// The lowest number of a descriptor that a program is started from.
const FIRST_DESCRIPTOR: i32 = 10;

/// Mark of 64-bit programs in the header of an ELF file.
const ELF_CLASS_64: u8 = 2;

/// Type of the entry that names the loader.
const ELF_INTERPRETER: u64 = 3;

/// Limit of the length of a path in the kernel.
const MAX_PATH_BYTES: usize = 4096;

/// The last pause before a file that is being written counts as busy.
const LAST_BUSY_PAUSE: Duration = Duration::from_millis(32);

/// Command of `fcntl` that chooses the signal of a lease (fcntl(2)). `libc` has no name for it.
const F_SETSIG: i32 = 10;

/// Verifies the program in an open file that is not a script.
pub(super) fn ready(
    program: &VerifiedProgram,
    verified: &VerifiedFile,
    file: File,
) -> Result<NativeProgram, NotVerified> {
    let mut file = above_streams(file.into())?;
    if !take_lease(&file)? {
        file = sealed_copy(&mut file)?;
    }
    verified.compare(&regular_files::hash_open(&mut file).map_err(unreadable)?)?;
    if let Some(loader) =
        loader(&file).map_err(|error| NotVerified::Unreadable(error.to_string()))?
    {
        check_loader(&program.scope, &loader)?;
    }
    Ok(NativeProgram {
        file: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        held: Some(file.into()),
    })
}

/// Checks the loader of a program, which the kernel starts in its place.
fn check_loader(scope: &ProjectScope, loader: &Path) -> Result<(), NotVerified> {
    if !loader.is_absolute() {
        let loader = loader.display().to_string();
        return Err(NotVerified::InterpreterRelative(loader));
    }
    scope
        .check_outside(loader)
        .map_err(NotVerified::InterpreterInProject)
}

/// Returns the path of the loader that an ELF program names (`PT_INTERP`, elf(5)), in the byte order
/// of this machine. Other files have none.
fn loader(file: &File) -> io::Result<Option<PathBuf>> {
    let mut header = [0; 64];
    let length = file.read_at(&mut header, 0)?;
    let is_wide = match header.get(..5) {
        Some([0x7f, b'E', b'L', b'F', class]) if length == header.len() => *class == ELF_CLASS_64,
        _ => return Ok(None),
    };
    let number = |bytes: &[u8], at: usize, size: usize| -> u64 {
        let mut bytes = bytes[at..at + size].to_vec();
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        let bytes = bytes.into_iter();
        bytes.fold(0, |number, byte| number << 8 | u64::from(byte))
    };
    // The place of the table, the size of an entry, their number.
    let fields = if is_wide {
        [(32, 8), (54, 2), (56, 2)]
    } else {
        [(28, 4), (42, 2), (44, 2)]
    };
    let [table, size, count] = fields.map(|(at, size)| number(&header, at, size));
    for index in 0..count {
        let mut entry = [0; 56];
        let entry = if is_wide {
            &mut entry[..]
        } else {
            &mut entry[..32]
        };
        let Some(place) = index.checked_mul(size).and_then(|at| table.checked_add(at)) else {
            break;
        };
        if file.read_exact_at(entry, place).is_err() {
            break;
        }
        if number(entry, 0, 4) != ELF_INTERPRETER {
            continue;
        }
        let (place, size) = if is_wide {
            (number(entry, 8, 8), number(entry, 32, 8))
        } else {
            (number(entry, 4, 4), number(entry, 16, 4))
        };
        let mut path = vec![
            0;
            usize::try_from(size)
                .unwrap_or_default()
                .min(MAX_PATH_BYTES)
        ];
        file.read_exact_at(&mut path, place)?;
        let end = path.iter().position(|byte| *byte == 0);
        path.truncate(end.unwrap_or(path.len()));
        return Ok(Some(OsStr::from_bytes(&path).into()));
    }
    Ok(None)
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
