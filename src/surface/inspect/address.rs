//! Address for debuggers: a port of the machine itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Address at which debuggers can attach. It is always one of the machine itself, because a client
/// that attaches can do what the tools can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InspectAddress(pub(super) SocketAddr);

/// The port of Node's inspector, which debuggers try first.
const PORT: u16 = 9229;

impl FromStr for InspectAddress {
    type Err = String;

    /// Parses `HOST:PORT`, `HOST` or `PORT`.
    fn from_str(text: &str) -> Result<InspectAddress, String> {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let port = |text: &str| text.parse().map_err(|_| format!("`{text}` is no port"));
        let address = if let Ok(address) = text.parse::<SocketAddr>() {
            address
        } else if let Ok(host) = text.parse::<IpAddr>() {
            SocketAddr::new(host, PORT)
        } else {
            match text.strip_prefix("localhost") {
                Some("") => SocketAddr::new(local, PORT),
                Some(rest) => {
                    let rest = rest.strip_prefix(':').ok_or(NOT_LOCAL)?;
                    SocketAddr::new(local, port(rest)?)
                }
                None if text.contains(':') => return Err(NOT_LOCAL.to_owned()),
                None => SocketAddr::new(local, port(text)?),
            }
        };
        if address.ip().is_loopback() {
            Ok(InspectAddress(address))
        } else {
            Err(NOT_LOCAL.to_owned())
        }
    }
}

const NOT_LOCAL: &str = "debuggers attach on this machine only: 127.0.0.1, [::1] or localhost";
