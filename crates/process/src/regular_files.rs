//! Opens, reads and hashes regular files of others, within limits.
//!
//! What a project names can be anything: a pipe without a writer, a device, a file of the kernel
//! that blocks or never ends, a sparse file of terabytes. Such a file is refused before it is
//! opened, and what is hashed is read in pieces.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::system;

/// The largest file that is hashed.
pub const MAX_HASHED_BYTES: u64 = 256 << 20;

/// Size of the pieces in which a file is hashed.
const PIECE_BYTES: usize = 64 << 10;

/// Reason for which a file is not read.
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
    if system::is_of_the_kernel(path)? {
        return Err(Refused::NotRegular);
    }
    let file = system::open_without_waiting(path)?;
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
