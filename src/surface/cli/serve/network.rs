//! The flags that say where a server listens and who may talk to it.

use std::path::PathBuf;

use crate::config::{ListenAddress, ServeFlags, Token};
use crate::error::{Error, ErrorKind};
use crate::surface::cli::exit::Failure;

/// As typed.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Network {
    /// Where to listen: HOST:PORT or PORT; 127.0.0.1:4238 if nothing else is said
    #[arg(long, value_name = "ADDR")]
    listen: Option<ListenAddress>,

    /// A file with the token that clients must send; needed where others can reach the address
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// The token itself; anybody on this machine can see it, so better a file or HAFT_SERVE_TOKEN
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<Token>,

    /// A name by which requests may call the server, besides localhost (may be repeated)
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// Web pages of this origin may use the server (may be repeated)
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// Do not watch the tools' files: what changes counts when somebody asks for a refresh
    #[arg(long)]
    no_watch: bool,
}

impl Network {
    pub(super) fn followed_by(&self, later: &Network) -> Network {
        let (earlier, later) = (self.clone(), later.clone());
        let says_token = later.token.is_some() || later.token_file.is_some();
        let (token, token_file) = match says_token {
            true => (later.token, later.token_file),
            false => (earlier.token, earlier.token_file),
        };
        Network {
            listen: later.listen.or(earlier.listen),
            token,
            token_file,
            allow_host: [earlier.allow_host, later.allow_host].concat(),
            allow_origin: [earlier.allow_origin, later.allow_origin].concat(),
            no_watch: earlier.no_watch || later.no_watch,
        }
    }

    /// Whether an address was typed.
    pub(super) fn says_where(&self) -> bool {
        self.listen.is_some()
    }

    /// The flags as the configuration takes them.
    pub(super) fn flags(&self) -> Result<ServeFlags, Failure> {
        let from_file = self.token_file.as_deref().map(Token::from_file);
        let from_file = from_file.transpose().map_err(|problem| {
            Error::new(ErrorKind::Usage, format!("--token-file {problem}"))
                .with_hint("name a readable file that holds the token and nothing else")
        })?;
        Ok(ServeFlags {
            listen: self.listen.clone(),
            token: self.token.clone().or(from_file),
            allowed_hosts: self.allow_host.clone(),
            allowed_origins: self.allow_origin.clone(),
            with_builtin_tools: true,
            no_watch: self.no_watch,
            ..ServeFlags::default()
        })
    }
}
