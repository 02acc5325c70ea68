//! The start of a connection with a server: address, TLS, authentication.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::nkeys::{self, UserKey};
use crate::protocol::{self, ServerInfo, ServerOp};
use crate::tls::{self, MachineRoots, TlsFiles};

/// Time for a connection with one server, up to its first answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

const DEFAULT_PORT: u16 = 4222;

/// A server and how a client is known there.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Addresses of one server or of the servers of one cluster: `nats://HOST:PORT`, `tls://HOST:PORT`.
    /// A user with a password, or a token, may be in them.
    pub servers: Vec<Url>,
    /// Name of the client, for people who look at the server.
    pub name: String,
    /// Identity of the client.
    pub auth: Auth,
    /// Certificates.
    pub tls: TlsFiles,
    /// Authorities that are trusted if no file names others.
    pub machine_roots: MachineRoots,
}

/// Identity of a client. Files are read at each connection, so that a renewed one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// None, or the one in the address.
    #[default]
    Address,
    /// A file with the seed of an nkey.
    NkeyFile(PathBuf),
    /// A file with a token of the account and the seed of its nkey.
    CredsFile(PathBuf),
}

/// Reason why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConnectError {
    message: String,
}

impl ConnectError {
    pub(crate) fn new(message: impl Into<String>) -> ConnectError {
        ConnectError {
            message: message.into(),
        }
    }
}

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

/// A connection that the server has accepted.
pub(crate) struct Established {
    pub(crate) stream: Pin<Box<dyn Stream>>,
    /// Bytes that came after the server's first answer.
    pub(crate) received: BytesMut,
    pub(crate) info: ServerInfo,
}

/// Connects with the first server that accepts the client.
pub(crate) async fn establish(options: &ConnectOptions) -> Result<Established, ConnectError> {
    let mut failures = Vec::new();
    for server in &options.servers {
        let shown = shown(server);
        match timeout(CONNECT_TIMEOUT, connect(server, options)).await {
            Ok(Ok(established)) => return Ok(established),
            Ok(Err(why)) => failures.push(format!("{shown}: {why}")),
            Err(_) => {
                let seconds = CONNECT_TIMEOUT.as_secs();
                failures.push(format!("{shown}: no answer in {seconds} s"));
            }
        }
    }
    if failures.is_empty() {
        failures.push("no address of a server".to_owned());
    }
    Err(ConnectError::new(failures.join("; ")))
}

/// Returns an address without what is secret in it.
pub(crate) fn shown(server: &Url) -> String {
    let host = server.host_str().unwrap_or_default();
    let port = server.port().unwrap_or(DEFAULT_PORT);
    format!("{}://{host}:{port}", server.scheme())
}

async fn connect(server: &Url, options: &ConnectOptions) -> Result<Established, String> {
    let wants_tls = match server.scheme() {
        "nats" => options.tls.is_any(),
        "tls" => true,
        other => return Err(format!("the scheme is `{other}`, not `nats` or `tls`")),
    };
    let host = server.host_str().ok_or("the address has no host")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = server.port().unwrap_or(DEFAULT_PORT);
    let socket = TcpStream::connect((host, port)).await;
    let socket = socket.map_err(|error| plain(&error))?;
    // Small messages must not wait for each other.
    socket.set_nodelay(true).map_err(|error| plain(&error))?;
    let mut stream: Pin<Box<dyn Stream>> = Box::pin(socket);
    let mut received = BytesMut::new();
    let mut info = match next(&mut stream, &mut received).await? {
        ServerOp::Info(info) => *info,
        _ => return Err("it does not begin with INFO".to_owned()),
    };
    if !info.headers {
        return Err(format!("the server {} has no headers", info.version));
    }
    if wants_tls || info.tls_required {
        if !(info.tls_required || info.tls_available) {
            return Err("the server has no TLS".to_owned());
        }
        let config = tls::config(&options.machine_roots, &options.tls)?;
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| format!("`{host}` is no name of a server"))?;
        // What came before the handshake would be unencrypted.
        received.clear();
        let secured = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let secured = secured.await.map_err(|error| format!("TLS: {error}"))?;
        stream = Box::pin(secured);
    }
    let mut hello = json!({
        "verbose": false,
        "pedantic": false,
        "tls_required": wants_tls || info.tls_required,
        "name": options.name,
        "lang": "rust",
        "version": env!("CARGO_PKG_VERSION"),
        "protocol": 1,
        "echo": true,
        "headers": true,
        "no_responders": true,
    });
    identify(&mut hello, server, &options.auth, info.nonce.as_deref())?;
    let hello = format!("CONNECT {hello}\r\nPING\r\n");
    let sent = stream.write_all(hello.as_bytes()).await;
    sent.map_err(|error| plain(&error))?;
    stream.flush().await.map_err(|error| plain(&error))?;
    loop {
        match next(&mut stream, &mut received).await? {
            ServerOp::Pong => break,
            ServerOp::Error(error) => return Err(error),
            // A cluster sends it again when it has accepted the client.
            ServerOp::Info(newer) => info = *newer,
            ServerOp::Ok | ServerOp::Ping | ServerOp::Message(_) => {}
        }
    }
    Ok(Established {
        stream,
        received,
        info,
    })
}

/// Adds the client's identity to the first message.
fn identify(
    hello: &mut serde_json::Value,
    server: &Url,
    auth: &Auth,
    nonce: Option<&str>,
) -> Result<(), String> {
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| format!("{}: {error}", path.display()))
    };
    let named = |path: &PathBuf, why: String| format!("{}: {why}", path.display());
    let (key, token) = match auth {
        Auth::Address => {
            let decoded = |text: &str| {
                let bytes = percent_decoded(text);
                String::from_utf8_lossy(&bytes).into_owned()
            };
            match (server.username(), server.password()) {
                ("", _) => {}
                (token, None) => hello["auth_token"] = decoded(token).into(),
                (user, Some(password)) => {
                    hello["user"] = decoded(user).into();
                    hello["pass"] = decoded(password).into();
                }
            }
            return Ok(());
        }
        Auth::NkeyFile(path) => {
            let text = read(path)?;
            let seed = text.lines().find(|line| line.starts_with('S'));
            let key = UserKey::from_seed(seed.unwrap_or_default());
            (key.map_err(|why| named(path, why))?, None)
        }
        Auth::CredsFile(path) => {
            let found = nkeys::credentials(&read(path)?);
            let (token, seed) = found.map_err(|why| named(path, why))?;
            let key = UserKey::from_seed(&seed);
            (key.map_err(|why| named(path, why))?, Some(token))
        }
    };
    // A server without authentication sends none, and needs no signature.
    if let Some(nonce) = nonce {
        hello["sig"] = key.sign(nonce).into();
    }
    match token {
        Some(token) => hello["jwt"] = token.into(),
        None => hello["nkey"] = key.public().into(),
    }
    Ok(())
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

async fn next(
    stream: &mut Pin<Box<dyn Stream>>,
    received: &mut BytesMut,
) -> Result<ServerOp, String> {
    loop {
        if let Some(operation) = protocol::take(received)? {
            return Ok(operation);
        }
        let count = stream.read_buf(received).await;
        if count.map_err(|error| plain(&error))? == 0 {
            return Err("the server closed the connection".to_owned());
        }
    }
}

/// Returns the text of an error of the system without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}
