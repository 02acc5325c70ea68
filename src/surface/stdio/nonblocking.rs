//! Non-blocking reads and writes of descriptors in blocking mode.
//!
//! Other processes may share our descriptors, so these cannot be set to non-blocking mode. Linux
//! accepts a flag for a single read (`RWF_NOWAIT`). Elsewhere the descriptor is polled first;
//! another process may take the data between the poll and the read.

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Number of bytes that a writable pipe accepts without blocking (`PIPE_BUF`).
const CHUNK_BYTES: usize = 4096;

/// Reads the available data; returns 0 at the end.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if no data is available, and the errors of a read.
pub(super) fn read(file: &File, into: &mut [u8]) -> io::Result<usize> {
    if let Some(read) = nowait::read(file, into) {
        return read;
    }
    if is_ready(file, PollFlags::IN)? {
        { file }.read(into)
    } else {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// Writes as many of `bytes` as possible without blocking.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if none can be written, and the errors of a write.
pub(super) fn write(file: &File, bytes: &[u8]) -> io::Result<usize> {
    if let Some(written) = nowait::write(file, bytes) {
        return written;
    }
    if is_ready(file, PollFlags::OUT)? {
        { file }.write(&bytes[..bytes.len().min(CHUNK_BYTES)])
    } else {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// Returns true if a read or a write, as selected by `what`, would not block.
fn is_ready(file: &File, what: PollFlags) -> io::Result<bool> {
    let mut asked = [PollFd::new(file, what)];
    Ok(poll(&mut asked, Some(&Timespec::default()))? > 0)
}

/// Uses the flag for a single read or write. `None`: not supported by this kernel, or for this kind
/// of file.
#[cfg(target_os = "linux")]
mod nowait {
    use std::fs::File;
    use std::io::{self, IoSlice, IoSliceMut};

    use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};

    /// Offset that means the current position of the file.
    const HERE: u64 = u64::MAX;

    pub(super) fn read(file: &File, into: &mut [u8]) -> Option<io::Result<usize>> {
        let mut into = [IoSliceMut::new(into)];
        settled(preadv2(file, &mut into, HERE, ReadWriteFlags::NOWAIT))
    }

    pub(super) fn write(file: &File, bytes: &[u8]) -> Option<io::Result<usize>> {
        let bytes = [IoSlice::new(bytes)];
        settled(pwritev2(file, &bytes, HERE, ReadWriteFlags::NOWAIT))
    }

    /// Other errors occur again without the flag, or are caused by it.
    fn settled(done: Result<usize, Errno>) -> Option<io::Result<usize>> {
        match done {
            Ok(bytes) => Some(Ok(bytes)),
            Err(error @ (Errno::AGAIN | Errno::INTR)) => Some(Err(error.into())),
            Err(_) => None,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nowait {
    use std::fs::File;
    use std::io;

    pub(super) fn read(_: &File, _: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }

    pub(super) fn write(_: &File, _: &[u8]) -> Option<io::Result<usize>> {
        None
    }
}
