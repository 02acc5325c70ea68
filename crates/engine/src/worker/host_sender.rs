//! Sender of everything that a worker process reports to haft's process.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::net::{SendFlags, Shutdown, shutdown};
use serde::Serialize;

use super::socket;
use crate::lock;

/// Sender of messages to haft's process. Cheap to use from several threads.
pub(crate) struct HostSender {
    socket: OwnedFd,
    /// Held while the packets of one message are sent.
    turn: Mutex<()>,
}

impl HostSender {
    /// Returns the sender through this end of a socket.
    pub(crate) fn new(socket: OwnedFd) -> HostSender {
        HostSender {
            socket,
            turn: Mutex::default(),
        }
    }

    /// Makes the thread that waits for the next message notice the end.
    pub(crate) fn stop_reading(&self) {
        // A socket that is closed already has no reader.
        let _ = shutdown(&self.socket, Shutdown::Read);
    }

    /// Closes the connection. Otherwise the system closes it after it has taken back the memory of the
    /// process, which takes some milliseconds.
    pub(crate) fn close(&self) {
        // haft's process may have closed it already.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    /// Sends a message; waits while haft's process does not read.
    pub(crate) fn send(&self, message: &impl Serialize) {
        let packets = socket::packets_of(message);
        let _turn = lock(&self.turn);
        for packet in packets {
            if socket::send_packet(&self.socket, &packet, SendFlags::empty()).is_err() {
                // haft's process has gone; the control thread ends this one.
                return;
            }
        }
    }
}
