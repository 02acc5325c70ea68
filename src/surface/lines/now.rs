//! Reads and writes that never wait.
//!
//! Others may have our descriptors too, so these stay as they were and cannot be told never to wait.
//! Linux takes that wish with the read itself. Where it does not, we ask first whether there would be
//! a wait; in between somebody else may take what there was.

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A pipe that takes anything takes so much without a wait (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// Reads what is there; 0 at the end.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when there is nothing, and the errors of a read.
pub(super) fn read(file: &File, into: &mut [u8]) -> io::Result<usize> {
    if let Some(read) = nowait::read(file, into) {
        return read;
    }
    match is_ready(file, PollFlags::IN)? {
        true => { file }.read(into),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Writes as many of `bytes` as are taken at once.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when none is, and the errors of a write.
pub(super) fn write(file: &File, bytes: &[u8]) -> io::Result<usize> {
    if let Some(written) = nowait::write(file, bytes) {
        return written;
    }
    match is_ready(file, PollFlags::OUT)? {
        true => { file }.write(&bytes[..bytes.len().min(AT_ONCE)]),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Whether a read or a write, as `what` says, would not wait.
fn is_ready(file: &File, what: PollFlags) -> io::Result<bool> {
    let mut asked = [PollFd::new(file, what)];
    Ok(poll(&mut asked, Some(&Timespec::default()))? > 0)
}

/// With the wish itself. `None`: not for this kernel, or not for this kind of file.
#[cfg(target_os = "linux")]
mod nowait {
    use std::fs::File;
    use std::io::{self, IoSlice, IoSliceMut};

    use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};

    /// Where the file is.
    const HERE: u64 = u64::MAX;

    pub(super) fn read(file: &File, into: &mut [u8]) -> Option<io::Result<usize>> {
        let mut into = [IoSliceMut::new(into)];
        settled(preadv2(file, &mut into, HERE, ReadWriteFlags::NOWAIT))
    }

    pub(super) fn write(file: &File, bytes: &[u8]) -> Option<io::Result<usize>> {
        let bytes = [IoSlice::new(bytes)];
        settled(pwritev2(file, &bytes, HERE, ReadWriteFlags::NOWAIT))
    }

    /// Other errors come again without the wish, or they are about it.
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
