//! Settings of a server: its address, its clients, and the limits of their requests.
//!
//! Only the user sets them, because they decide who can run tools on this machine.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::{Env, parse_duration, paths};
use haft_tool::error::{Error, ErrorKind};

/// Default address. Only this machine can reach its loopback interface. The port spells "haft" on a
/// phone.
const LISTEN: &str = "127.0.0.1:4238";

/// The default of [`Serve::body_mb`]: enough for a file or a photo in base64, not for a film.
const BODY_MB: u32 = 16;

/// The default of [`Serve::bodies_mb`]: sixteen of the largest requests.
const BODIES_MB: u32 = 256;

/// The default of [`Serve::body_timeout`].
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The default of [`Serve::connections`].
const MAX_CONNECTIONS: u32 = 1024;

/// The default of [`Serve::mcp_sessions`]: some 60 MB if each one is used.
const MAX_MCP_SESSIONS: u32 = 1000;

/// The default of [`Serve::mcp_session_idle`]. A session that is left open over lunch or over night
/// is kept, because many clients do not start a new one by themselves.
const MCP_SESSION_IDLE: Duration = Duration::from_secs(12 * 3600);

/// An address to listen on, as written: `127.0.0.1:4238`, `[::1]:0`, `localhost:8080`, `8080`,
/// `unix:/run/haft.sock`, `unix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A port.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// The port; 0: any free one.
        port: u16,
    },
    /// A Unix socket that only its user may connect to; `None`: the one in the runtime directory.
    Unix(Option<PathBuf>),
}

/// Token that a client has to send. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Settings of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Address that it listens on.
    pub listen: ListenAddress,
    /// Token of the clients; `None`: the server makes a random one at its start.
    pub token: Option<Token>,
    /// True if a client needs no token.
    pub no_token: bool,
    /// True if others may use the server even though no token is needed.
    pub allow_anyone: bool,
    /// Further host names, in lower case, by which a request may address the server.
    pub allowed_hosts: Vec<String>,
    /// Origins whose web pages may use the server, besides its own.
    pub allowed_origins: Vec<String>,
    /// Maximum size of one request, in MiB.
    pub body_mb: u32,
    /// Maximum size of all requests together that are being received or answered, in MiB.
    pub bodies_mb: u32,
    /// Timeout for receiving the body of a request.
    pub body_timeout: Duration,
    /// Maximum number of connections at the same time.
    pub connections: u32,
    /// Maximum number of sessions of MCP clients up to 2025-11-25 at the same time.
    pub mcp_sessions: u32,
    /// Idle time after which such a session ends.
    pub mcp_session_idle: Duration,
    /// True if the tools' files are watched.
    pub watch: bool,
}

/// The settings as the command line or one layer has them.
#[derive(Clone, Debug, Default)]
pub struct ServeFlags {
    /// Address that it listens on.
    pub listen: Option<ListenAddress>,
    /// Token of the clients.
    pub token: Option<Token>,
    /// A client needs no token.
    pub no_token: bool,
    /// Others may use the server even though no token is needed.
    pub allow_anyone: bool,
    /// Further host names by which a request may address the server.
    pub allowed_hosts: Vec<String>,
    /// Origins whose web pages may use the server.
    pub allowed_origins: Vec<String>,
    /// Maximum size of one request, in MiB.
    pub body_mb: Option<u32>,
    /// Maximum size of all requests together, in MiB.
    pub bodies_mb: Option<u32>,
    /// Timeout for receiving the body of a request.
    pub body_timeout: Option<Duration>,
    /// Maximum number of connections at the same time.
    pub connections: Option<u32>,
    /// Maximum number of sessions of MCP clients at the same time.
    pub mcp_sessions: Option<u32>,
    /// Idle time after which such a session ends.
    pub mcp_session_idle: Option<Duration>,
    /// aynd's built-in tools are on by default.
    pub with_builtin_tools: bool,
    /// The tools' files are not watched.
    pub no_watch: bool,
}

impl ServeFlags {
    pub(super) fn from_env(env: &Env) -> Result<ServeFlags, Error> {
        let text = |name: &str| env.haft.get(name).map(String::as_str);
        let list = |name: &str| -> Vec<String> {
            let parts = text(name).unwrap_or_default().split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let wrong = |name: &str, problem: String| {
            Error::new(ErrorKind::Usage, format!("HAFT_{name}: {problem}"))
                .with_hint(format!("correct or unset the variable HAFT_{name}"))
        };
        let listen = text("SERVE_LISTEN").map(str::parse).transpose();
        let token = text("SERVE_TOKEN").map(str::parse).transpose();
        let body_mb = text("SERVE_BODY_MB").map(body_mb).transpose();
        let bodies_mb = text("SERVE_BODIES_MB").map(bodies_mb).transpose();
        let body_timeout = text("SERVE_BODY_TIMEOUT").map(some_time).transpose();
        let connections = text("SERVE_CONNECTIONS").map(count).transpose();
        let sessions = text("SERVE_MCP_SESSIONS").map(count).transpose();
        let idle = text("SERVE_MCP_SESSION_IDLE").map(some_time).transpose();
        Ok(ServeFlags {
            listen: listen.map_err(|problem| wrong("SERVE_LISTEN", problem))?,
            token: token.map_err(|problem| wrong("SERVE_TOKEN", problem))?,
            no_token: false,
            allow_anyone: false,
            allowed_hosts: list("SERVE_HOSTS"),
            allowed_origins: list("SERVE_ORIGINS"),
            body_mb: body_mb.map_err(|problem| wrong("SERVE_BODY_MB", problem))?,
            bodies_mb: bodies_mb.map_err(|problem| wrong("SERVE_BODIES_MB", problem))?,
            body_timeout: body_timeout.map_err(|problem| wrong("SERVE_BODY_TIMEOUT", problem))?,
            connections: connections.map_err(|problem| wrong("SERVE_CONNECTIONS", problem))?,
            mcp_sessions: sessions.map_err(|problem| wrong("SERVE_MCP_SESSIONS", problem))?,
            mcp_session_idle: idle.map_err(|problem| wrong("SERVE_MCP_SESSION_IDLE", problem))?,
            with_builtin_tools: false,
            no_watch: false,
        })
    }

    pub(super) fn merge_from(&mut self, lower: ServeFlags) {
        self.listen = self.listen.take().or(lower.listen);
        self.token = self.token.take().or(lower.token);
        self.allowed_hosts.extend(lower.allowed_hosts);
        self.allowed_origins.extend(lower.allowed_origins);
        self.body_mb = self.body_mb.or(lower.body_mb);
        self.bodies_mb = self.bodies_mb.or(lower.bodies_mb);
        self.body_timeout = self.body_timeout.or(lower.body_timeout);
        self.connections = self.connections.or(lower.connections);
        self.mcp_sessions = self.mcp_sessions.or(lower.mcp_sessions);
        self.mcp_session_idle = self.mcp_session_idle.or(lower.mcp_session_idle);
        self.with_builtin_tools |= lower.with_builtin_tools;
        self.no_watch |= lower.no_watch;
        self.no_token |= lower.no_token;
        self.allow_anyone |= lower.allow_anyone;
    }

    pub(super) fn resolve(self) -> Serve {
        let lower = |names: Vec<String>| {
            let names = names.into_iter();
            names.map(|name| name.to_ascii_lowercase()).collect()
        };
        Serve {
            listen: self.listen.unwrap_or_default(),
            token: self.token,
            no_token: self.no_token,
            allow_anyone: self.allow_anyone,
            allowed_hosts: lower(self.allowed_hosts),
            allowed_origins: lower(self.allowed_origins),
            body_mb: self.body_mb.unwrap_or(BODY_MB),
            // At least one request of the largest kind must be possible.
            bodies_mb: self
                .bodies_mb
                .unwrap_or(BODIES_MB)
                .max(self.body_mb.unwrap_or(BODY_MB)),
            body_timeout: self.body_timeout.unwrap_or(BODY_TIMEOUT),
            connections: self.connections.unwrap_or(MAX_CONNECTIONS),
            mcp_sessions: self.mcp_sessions.unwrap_or(MAX_MCP_SESSIONS),
            mcp_session_idle: self.mcp_session_idle.unwrap_or(MCP_SESSION_IDLE),
            watch: !self.no_watch,
        }
    }
}

impl Default for ListenAddress {
    fn default() -> Self {
        let (host, port) = (LISTEN.split_once(':')).unwrap_or(("127.0.0.1", "0"));
        ListenAddress::Tcp {
            host: host.to_owned(),
            port: port.parse().unwrap_or(0),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "unix" {
            return Ok(ListenAddress::Unix(None));
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return match Path::new(path) {
                path if path.is_absolute() => Ok(ListenAddress::Unix(Some(path.to_owned()))),
                _ => Err(format!(
                    "`{text}` is not the absolute path of a socket, as in unix:/run/user/1000/haft.sock; \
                     `unix` alone takes one in the runtime directory"
                )),
            };
        }
        let wrong = || {
            format!(
                "`{text}` is not an address like 127.0.0.1:4238, [::1]:4238, 4238 or unix:/path/of/socket"
            )
        };
        let (host, port) = match text.rsplit_once(':') {
            None => ("127.0.0.1".to_owned(), text),
            Some(("", port)) => {
                return Err(format!(
                    "`{text}` does not say for whom: 127.0.0.1:{port} is for this machine only, \
                     0.0.0.0:{port} for everybody who can reach it"
                ));
            }
            Some((host, port)) => match host.strip_prefix('[').map(|host| host.strip_suffix(']')) {
                Some(Some(host)) => (host.to_owned(), port),
                Some(None) => return Err(wrong()),
                // An IPv6 address without brackets: its last group would be taken for the port.
                None if host.contains(':') => return Err(wrong()),
                None => (host.to_owned(), port),
            },
        };
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = !host.is_empty() && !host.contains(['/', ' ', '@', '[', ']']);
        match port.parse() {
            Ok(port) if is_number && is_name => Ok(ListenAddress::Tcp { host, port }),
            _ if is_number && is_name => Err(format!("`{text}`: a port is at most 65535")),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            ListenAddress::Tcp { host, port } => write!(f, "{host}:{port}"),
            ListenAddress::Unix(Some(path)) => write!(f, "unix:{}", path.display()),
            ListenAddress::Unix(None) => f.write_str("unix"),
        }
    }
}

impl Token {
    /// Reads the token from a file. Spaces around it do not count.
    ///
    /// # Errors
    /// A message, if the file cannot be read or holds no token.
    pub fn from_file(path: &Path) -> Result<Token, String> {
        others_cannot_write(path)?;
        let text = match paths::read_text(path) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(format!("{} does not exist", path.display())),
            Err(error) => return Err(format!("{}: {}", path.display(), paths::plain(&error))),
        };
        text.parse()
            .map_err(|problem| format!("{}: {problem}", path.display()))
    }

    /// Returns true if users other than its owner may read the file.
    pub fn is_readable_by_others(path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|found| found.mode() & 0o044 != 0)
    }

    /// The token itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Fails if other users may write to the file of a token: they could decide who may use the server.
fn others_cannot_write(path: &Path) -> Result<(), String> {
    let Ok(found) = std::fs::metadata(path) else {
        // The attempt to read it reports the error.
        return Ok(());
    };
    let user = rustix::process::geteuid().as_raw();
    let is_owned = found.uid() == user || found.uid() == 0;
    if is_owned && found.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(format!("{}: others can write to it", path.display()))
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the token is empty".into());
        }
        // The characters that an `Authorization` header can carry.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token is of letters, digits and signs, without spaces".into());
        }
        Ok(Token(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

pub(super) fn body_mb(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    match number {
        Ok(number @ 1..=1024) => Ok(number),
        _ => Err(format!("`{text}` is not a number of MiB from 1 to 1024")),
    }
}

pub(super) fn bodies_mb(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    match number {
        Ok(number @ 1..=65_536) => Ok(number),
        _ => Err(format!("`{text}` is not a number of MiB from 1 to 65536")),
    }
}

/// Parses the maximum number of connections or sessions of a server.
pub(super) fn count(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    match number {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 to 100000")),
    }
}

/// Parses a timeout of at least one second.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time < Duration::from_secs(1) {
        Err(format!("`{text}` is less than a second"))
    } else {
        Ok(time)
    }
}
