//! Opens, reads and hashes regular files of others, within limits.
//!
//! What a project names can be anything: a pipe without a writer, a device, a file of the kernel
//! that blocks or never ends, a sparse file of terabytes. Such a file is refused before it is
//! opened, and what is hashed is read in pieces.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The largest file that is hashed.
pub const MAX_HASHED_BYTES: u64 = 256 << 20;

/// Size of the pieces in which a file is hashed.
const PIECE_BYTES: usize = 64 << 10;

/// File systems whose files are answers of the kernel: proc, sysfs, debugfs, tracefs, securityfs,
/// both versions of cgroup, bpf, configfs, efivarfs, pstore.
const KERNEL_FILE_SYSTEMS: &[u32] = &[
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6367_7270,
    0x0027_e0eb,
    0xcafe_4a11,
    0x6265_6570,
    0xde5e_81e4,
    0x6165_676c,
];

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is a folder, a pipe, a socket, a device, or a file of the kernel.
    #[error("it is not a regular file on a disk")]
    NotRegular,
    /// It has more bytes than the limit.
    #[error("it is larger than {} MiB", .0 >> 20)]
    TooLarge(u64),
    /// The system refused.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Opens a regular file for reading.
pub fn open(path: &Path) -> Result<File, Refused> {
    // Looked at before it is opened: opening some devices does something.
    if !fs::metadata(path)?.is_file() {
        return Err(Refused::NotRegular);
    }
    let system = rustix::fs::statfs(path).map_err(io::Error::from)?;
    // Another width and sign on each machine; all numbers have 32 bits.
    let kind = system.f_type as u32;
    if KERNEL_FILE_SYSTEMS.contains(&kind) {
        return Err(Refused::NotRegular);
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // It may have been replaced by a pipe meanwhile.
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Refused::NotRegular)
    }
}

/// Hashes the file at `path` (blake3), in pieces.
pub fn hash(path: &Path) -> Result<blake3::Hash, Refused> {
    hash_open(&mut open(path)?)
}

/// Hashes what is left to read of an open file.
pub fn hash_open(file: &mut File) -> Result<blake3::Hash, Refused> {
    if file.metadata()?.len() > MAX_HASHED_BYTES {
        return Err(Refused::TooLarge(MAX_HASHED_BYTES));
    }
    let (mut hasher, mut piece) = (blake3::Hasher::new(), vec![0; PIECE_BYTES]);
    let mut left = MAX_HASHED_BYTES;
    loop {
        let length = match file.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        // A file can grow while it is read.
        left = match left.checked_sub(length as u64) {
            Some(left) => left,
            None => return Err(Refused::TooLarge(MAX_HASHED_BYTES)),
        };
        hasher.update(&piece[..length]);
    }
}

/// Reads the regular file at `path`, of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Refused> {
    read_open(&mut open(path)?, limit)
}

/// Reads what is left of an open file, of at most `limit` bytes.
pub fn read_open(file: &mut File, limit: u64) -> Result<Vec<u8>, Refused> {
    let size = file.metadata()?.len();
    if size > limit {
        return Err(Refused::TooLarge(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        Err(Refused::TooLarge(limit))
    } else {
        Ok(bytes)
    }
}
