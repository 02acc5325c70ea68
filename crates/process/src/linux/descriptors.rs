//! Descriptors that are sent over a socket, each group with one byte of its own.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Maximum number of descriptors that are sent at once.
pub(super) const MAX_DESCRIPTORS: usize = 16;

/// Sends at most sixteen descriptors.
///
/// # Errors
/// If the other side has closed the socket, or has no room and `flags` forbid to wait.
pub fn send_descriptors(
    socket: &OwnedFd,
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let is_pushed = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    debug_assert!(is_pushed, "there is room for all descriptors");
    let part = [IoSlice::new(&[0])];
    sendmsg(socket, &part, &mut ancillary, flags | SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives what one [`send_descriptors`] has sent; `None` if the other side has closed the socket.
///
/// # Errors
/// If the socket fails.
pub fn receive_descriptors(socket: &OwnedFd) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = rustix::io::retry_on_intr(|| {
        let mut part = [IoSliceMut::new(&mut byte)];
        recvmsg(socket, &mut part, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(list) = message {
            descriptors.extend(list);
        }
    }
    Ok(Some(descriptors))
}
