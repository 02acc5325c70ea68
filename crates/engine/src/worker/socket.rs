//! Messages over a socket that keeps packets apart.
//!
//! A message is sent in packets of at most [`MAX_PACKET`] bytes. The first byte of a packet says
//! whether more packets of the same message follow; the next two are the number of the processor on
//! which it was made, for [`spin_wait`].
//!
//! [`spin_wait`]: crate::spin_wait

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::spin_wait::current_processor;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Limit of a packet. The system's default for the buffer of a socket is three times that.
const MAX_PACKET: usize = 64 << 10;

/// Limit of a message. JavaScript limits results and updates to less.
const MAX_MESSAGE: usize = 256 << 20;

const LAST: u8 = 0;
const MORE: u8 = 1;

/// Number of bytes before the part of the message.
const HEADER: usize = 3;

/// Makes a pair of connected sockets.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok(pair)
}

/// Registers a socket with the current runtime.
#[expect(
    unsafe_code,
    reason = "tokio offers no safe function for sockets of this kind"
)]
pub(crate) fn watch(socket: Arc<OwnedFd>, interest: Interest) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the `Arc` keeps the descriptor open, and always names the same one.
    let registered = unsafe { AsyncFd::register_with_interest(socket, interest) };
    Ok(registered?)
}

/// Returns the packets of a message.
pub(crate) fn packets_of(message: &impl Serialize) -> Vec<Vec<u8>> {
    // Most messages fit into one packet, so they are written behind its header.
    let header = |kind| {
        let processor = u16::try_from(current_processor()).unwrap_or(u16::MAX);
        let [low, high] = processor.to_le_bytes();
        [kind, low, high]
    };
    let packet =
        postcard::to_extend(message, header(LAST).to_vec()).expect("messages are plain data");
    if packet.len() <= MAX_PACKET {
        return vec![packet];
    }
    let bytes = &packet[HEADER..];
    let chunks = bytes.chunks(MAX_PACKET - HEADER);
    let count = chunks.len();
    chunks
        .enumerate()
        .map(|(index, chunk)| {
            let kind = if index + 1 == count { LAST } else { MORE };
            let mut packet = Vec::with_capacity(chunk.len() + HEADER);
            packet.extend_from_slice(&header(kind));
            packet.extend_from_slice(chunk);
            packet
        })
        .collect()
}

/// Sends a packet. Returns false if the socket's buffer is full and `flags` forbid to wait.
pub(crate) fn send_packet(socket: impl AsFd, packet: &[u8], flags: SendFlags) -> io::Result<bool> {
    loop {
        match send(&socket, packet, flags | SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(true),
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends packets until the socket has no room. Returns true if none is left. Those for a socket that
/// was closed are dropped, because its reader notices the end.
pub(crate) fn send_packets(socket: &OwnedFd, packets: &mut VecDeque<Vec<u8>>) -> bool {
    while let Some(packet) = packets.front() {
        match send_packet(socket, packet, SendFlags::DONTWAIT) {
            Ok(true) => drop(packets.pop_front()),
            Ok(false) => return false,
            Err(_) => packets.clear(),
        }
    }
    true
}

/// Reader of the messages of one socket.
pub(crate) struct MessageReader {
    /// Has room for the largest packet, of which only what small ones need is ever touched.
    packet: Vec<u8>,
    message: Vec<u8>,
    sent_on: u16,
}

/// Result of an attempt to read a message.
pub(crate) enum Received<M> {
    Message(M),
    /// No message is there, and the flags forbid to wait.
    Nothing,
    /// The other side has closed the socket.
    Closed,
}

impl Default for MessageReader {
    fn default() -> Self {
        MessageReader {
            packet: Vec::with_capacity(MAX_PACKET),
            message: Vec::new(),
            sent_on: u16::MAX,
        }
    }
}

impl MessageReader {
    /// Returns the processor on which the last message was sent.
    pub(crate) fn sent_on(&self) -> u32 {
        u32::from(self.sent_on)
    }

    /// Reads the next message.
    ///
    /// # Errors
    /// If the socket fails, or the bytes are no message.
    pub(crate) fn read<M: DeserializeOwned>(
        &mut self,
        socket: impl AsFd,
        flags: RecvFlags,
    ) -> io::Result<Received<M>> {
        loop {
            self.packet.clear();
            match recv(&socket, spare_capacity(&mut self.packet), flags) {
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(Errno::INTR) => continue,
                Err(Errno::CONNRESET | Errno::PIPE) => return Ok(Received::Closed),
                Err(error) => return Err(error.into()),
            }
            if self.packet.is_empty() {
                return Ok(Received::Closed);
            }
            let Some(([kind, low, high], part)) = self.packet.split_first_chunk::<HEADER>() else {
                return Err(io::Error::other("a packet is too short"));
            };
            self.sent_on = u16::from_le_bytes([*low, *high]);
            if *kind == LAST && self.message.is_empty() {
                return parse(part);
            }
            if self.message.len() + part.len() > MAX_MESSAGE {
                return Err(io::Error::other("a message is too large"));
            }
            self.message.extend_from_slice(part);
            if *kind == LAST {
                let message = std::mem::take(&mut self.message);
                return parse(&message);
            }
        }
    }
}

fn parse<M: DeserializeOwned>(bytes: &[u8]) -> io::Result<Received<M>> {
    match postcard::from_bytes(bytes) {
        Ok(message) => Ok(Received::Message(message)),
        Err(error) => Err(io::Error::other(format!(
            "a message cannot be read: {error}"
        ))),
    }
}
