//! The socket that a server listens on, and what it is called from outside.

use std::net::SocketAddr;

use tokio::net::{TcpListener, lookup_host};

use crate::config::ListenAddress;
use crate::error::{Error, ErrorKind};

/// A socket that listens.
pub(crate) struct Listening {
    pub(super) socket: TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Opens the first address that a name means.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with the system's reason.
    pub(crate) async fn open(at: &ListenAddress) -> Result<Listening, Error> {
        let refused = |error: std::io::Error| {
            let text = format!(
                "cannot listen on {at}: {}",
                error.to_string().to_lowercase()
            );
            Error::new(ErrorKind::Usage, text)
                .with_hint("another address with --listen; port 0 takes one that is free")
        };
        let mut found = lookup_host((at.host.as_str(), at.port))
            .await
            .map_err(refused)?;
        let Some(first) = found.next() else {
            let text = format!("cannot listen on {at}: the name has no address");
            return Err(Error::new(ErrorKind::Usage, text));
        };
        let socket = TcpListener::bind(first).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Listening { socket, address })
    }

    /// Where it really listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of it, for a browser on this machine, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}
