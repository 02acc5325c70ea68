//! Settings of a server: its address, its clients, and the limits of their requests.
//!
//! Only the user sets them, because they decide who can run tools on this machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use haft_process::owners::FileAccess;

use super::declare::{Form, block, default_settings, joined, seconds, settings, values, whole};
use super::nats::{ServeNats, ServeNatsFlags};
use super::paths;

/// Default address. Only this machine can reach its loopback interface. The port spells "haft" on a
/// phone.
const LISTEN: &str = "127.0.0.1:4238";

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

settings! {
    /// Settings of a server.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Serve {
        /// Address that the server listens on: `HOST:PORT`, `PORT`, `unix:/PATH` or `unix`.
        pub listen: ListenAddress = LISTEN, env "HAFT_SERVE_LISTEN";
        /// Token that clients must send. Default: the server makes a random one at its start.
        pub token: Option<Token> = "", env "HAFT_SERVE_TOKEN";
        /// Host names by which requests may address the server, besides localhost.
        pub allowed_hosts as "allow_hosts": Vec<String> = "" => joined, env "HAFT_SERVE_HOSTS";
        /// Origins whose web pages may use the server, besides its own.
        pub allowed_origins as "allow_origins": Vec<String> = "" => joined,
            env "HAFT_SERVE_ORIGINS";
        /// Maximum size of one request, in MiB.
        // Enough for a file or a photo in base64, not for a film.
        pub body_mb: u32 = "16" => whole(1..=1024, " of MiB"), env "HAFT_SERVE_BODY_MB";
        /// Maximum size of all requests together that are being received or answered, in MiB.
        // Sixteen of the largest requests.
        pub bodies_mb: u32 = "256" => whole(1..=65_536, " of MiB"), env "HAFT_SERVE_BODIES_MB";
        /// Timeout for receiving the body of a request.
        pub body_timeout: Duration = "1m" => seconds, env "HAFT_SERVE_BODY_TIMEOUT";
        /// Maximum number of connections at the same time.
        pub connections: u32 = "1024" => whole(1..=100_000, ""), env "HAFT_SERVE_CONNECTIONS";
        /// Maximum number of sessions of MCP clients up to 2025-11-25 at the same time. See mcp.md.
        // Some 60 MB if each one is used.
        pub mcp_sessions: u32 = "1000" => whole(1..=100_000, ""), env "HAFT_SERVE_MCP_SESSIONS";
        /// Idle time after which such a session ends.
        // A session that is left open over lunch or over night is kept, because many clients do
        // not start a new one by themselves.
        pub mcp_session_idle: Duration = "12h" => seconds, env "HAFT_SERVE_MCP_SESSION_IDLE";
        /// Time that a server drains when it is asked to end: it is not ready any more, takes no new
        /// calls, and running ones finish. `0s` cancels them after a second. See scale.md.
        pub drain: Duration = "0s", env "HAFT_SERVE_DRAIN";
        /// Connection of `haft serve nats`. See nats.md.
        pub nats: ServeNats = "" => block;
        // Only flags set these, so that they are visible where the server is started.
        computed {
            /// True if a client needs no token.
            pub no_token: bool,
            /// True if others may use the server even though no token is needed.
            pub allow_anyone: bool,
            /// True if the tools' files are watched.
            pub watch: bool,
        }
    }
}
default_settings!(Serve);

/// The settings that the command line of `haft serve` has.
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
    /// aynd's built-in tools are on by default.
    pub with_builtin_tools: bool,
    /// The tools' files are not watched.
    pub no_watch: bool,
    /// Connection of `haft serve nats`.
    pub nats: ServeNatsFlags,
}

impl Serve {
    /// Sets what the flags set.
    pub(super) fn apply(&mut self, flags: ServeFlags) {
        self.listen = flags.listen.unwrap_or_else(|| self.listen.clone());
        self.token = flags.token.or(self.token.take());
        self.allowed_hosts.splice(0..0, flags.allowed_hosts);
        self.allowed_origins.splice(0..0, flags.allowed_origins);
        for name in self
            .allowed_hosts
            .iter_mut()
            .chain(&mut self.allowed_origins)
        {
            name.make_ascii_lowercase();
        }
        self.nats.apply(flags.nats);
        self.no_token = flags.no_token;
        self.allow_anyone = flags.allow_anyone;
        self.watch = !flags.no_watch;
        // At least one request of the largest kind must be possible.
        self.bodies_mb = self.bodies_mb.max(self.body_mb);
    }
}

values! {
    ListenAddress: Form::Text, str::parse;
    Token: Form::Secret, str::parse;
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
        FileAccess::of(path).is_ok_and(|access| access.others_read)
    }

    /// The token itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Fails if other users may write to the file of a token: they could decide who may use the server.
fn others_cannot_write(path: &Path) -> Result<(), String> {
    let Ok(access) = FileAccess::of(path) else {
        // The attempt to read it reports the error.
        return Ok(());
    };
    if (access.is_ours || access.is_of_system) && !access.others_write {
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
