//! The socket that a server listens on, and its URL.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, lookup_host};

use super::stream::Stream;
use crate::credentials::random_id;
use haft_config::ListenAddress;
use haft_process::StateFolder;
use haft_tool::{Error, ErrorKind};

/// File name of the socket in the runtime directory.
const SOCKET: &str = "haft.sock";

/// A listening socket.
pub(crate) enum Listening {
    Tcp {
        socket: TcpListener,
        address: SocketAddr,
    },
    Unix {
        socket: UnixListener,
        file: SocketFile,
    },
}

/// The file of a Unix socket. It is removed when this is dropped.
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Listening {
    /// Opens the first address that a name resolves to, or a Unix socket.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with the system's reason.
    pub(crate) async fn open(
        at: &ListenAddress,
        runtime_dir: &StateFolder,
    ) -> Result<Listening, Error> {
        let refused = |error: io::Error| {
            let text = format!(
                "cannot listen on {at}: {}",
                error.to_string().to_lowercase()
            );
            Error::new(ErrorKind::Usage, text)
                .with_hint("another address with --listen; port 0 takes one that is free")
        };
        let (host, port) = match at {
            ListenAddress::Tcp { host, port } => (host, *port),
            ListenAddress::Unix(path) => {
                let path = match path {
                    Some(path) => path.clone(),
                    None => runtime_dir.make_private().map_err(refused)?.join(SOCKET),
                };
                let (socket, file) = bind(&path).map_err(refused)?;
                return Ok(Listening::Unix { socket, file });
            }
        };
        let mut found = lookup_host((host.as_str(), port)).await.map_err(refused)?;
        let Some(first) = found.next() else {
            let text = format!("cannot listen on {at}: the name has no address");
            return Err(Error::new(ErrorKind::Usage, text));
        };
        let socket = TcpListener::bind(first).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Listening::Tcp { socket, address })
    }

    /// Returns the bound address; `None` for a Unix socket, to which only its user can connect.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listening::Tcp { address, .. } => Some(*address),
            Listening::Unix { .. } => None,
        }
    }

    /// Returns the URL for a browser on this machine, without a trailing slash; or the socket's
    /// path.
    pub(crate) fn url(&self) -> String {
        match self {
            Listening::Tcp { address, .. } => format!("http://{address}"),
            Listening::Unix { file, .. } => format!("unix:{}", file.path.display()),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listening::Tcp { socket, .. } => Ok(Stream::Tcp(socket.accept().await?.0)),
            Listening::Unix { socket, .. } => Ok(Stream::Unix(socket.accept().await?.0)),
        }
    }
}

/// Binds a socket at this path that only its user may connect to. Replaces a leftover socket.
fn bind(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    check_folder(folder)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::other("there is a file that is not a socket"));
        }
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => {
            return Err(io::Error::other("the socket belongs to another user"));
        }
        Ok(_) => match Probe::connect(path) {
            Ok(_) => return Err(io::Error::other("another server listens there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        },
    }
    // The socket gets its final name only after its permissions are set.
    let aside = folder.join(format!(".haft-{}", &random_id()[..8]));
    let socket = UnixListener::bind(&aside)?;
    let named = fs::set_permissions(&aside, Permissions::from_mode(0o600))
        .and_then(|()| fs::rename(&aside, path))
        .and_then(|()| fs::symlink_metadata(path));
    match named {
        Ok(found) => {
            let file = SocketFile {
                path: path.to_owned(),
                device: found.dev(),
                inode: found.ino(),
            };
            Ok((socket, file))
        }
        Err(error) => {
            let _ = fs::remove_file(&aside);
            Err(error)
        }
    }
}

/// Returns an error if other users may replace the socket: they would receive the server's
/// requests.
fn check_folder(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    let is_owned = found.uid() == user || found.uid() == 0;
    let is_sticky = found.mode() & 0o1000 != 0;
    if is_owned && (is_sticky || found.mode() & 0o022 == 0) {
        Ok(())
    } else {
        Err(io::Error::other("others may replace files in its folder"))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode));
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}
