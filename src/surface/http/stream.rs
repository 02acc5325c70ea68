//! A client's connection, over TCP or a Unix socket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::audit::Caller;

/// A connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Address of the client, for the call log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// Set for a TCP connection.
    address: Option<String>,
    /// Set for a Unix socket.
    uid: Option<u32>,
    process: Option<u32>,
}

impl Peer {
    /// Adds the known data to a caller.
    pub(crate) fn describe(&self, caller: &mut Caller) {
        let Peer {
            address,
            uid,
            process,
        } = self.clone();
        (caller.address, caller.uid, caller.process) = (address, uid, process);
    }
}

impl Stream {
    /// Returns the address or the process of the client, as reported by the system.
    pub(super) fn peer(&self) -> Peer {
        match self {
            Stream::Tcp(stream) => Peer {
                address: stream.peer_addr().ok().map(|address| address.to_string()),
                ..Peer::default()
            },
            Stream::Unix(stream) => {
                let peer = stream.peer_cred().ok();
                let process = peer.and_then(|peer| peer.pid());
                Peer {
                    address: None,
                    uid: peer.map(|peer| peer.uid()),
                    process: process.and_then(|pid| u32::try_from(pid).ok()),
                }
            }
        }
    }

    /// Returns true if the client may connect. Over a Unix socket only this process's own user may.
    pub(super) fn is_admitted(&self) -> bool {
        match self {
            Stream::Tcp(_) => true,
            Stream::Unix(stream) => {
                let user = rustix::process::geteuid().as_raw();
                stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
            }
        }
    }

    /// Disables Nagle's algorithm, so that small responses are sent at once.
    pub(super) fn send_at_once(&self) {
        if let Stream::Tcp(stream) = self {
            let _ = stream.set_nodelay(true);
        }
    }
}

macro_rules! either {
    ($stream:expr, $inner:ident => $do:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($inner) => {
                let $inner = Pin::new($inner);
                $do
            }
            Stream::Unix($inner) => {
                let $inner = Pin::new($inner);
                $do
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Tcp(stream) => stream.is_write_vectored(),
            Stream::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_shutdown(cx))
    }
}
