//! Flags for a server's address and access control.

use std::path::PathBuf;

use crate::surface::cli::exit::Failure;
use crate::surface::terminal::say;
use haft_config::{ListenAddress, ServeFlags, Token};
use haft_tool::{Error, ErrorKind, terminal_text};

/// As typed.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Network {
    /// Address to listen on: HOST:PORT, PORT, unix:/PATH or unix (a socket in the runtime directory)
    /// [default: 127.0.0.1:4238]
    #[arg(long, value_name = "ADDR")]
    listen: Option<ListenAddress>,

    /// A file with the token that clients must send; without one the server makes a token at each start
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Want no token: every user and every program of this machine may then call the tools
    #[arg(long)]
    no_token: bool,

    /// With --no-token: also where others than this machine can reach the address
    #[arg(long, requires = "no_token")]
    allow_anyone: bool,

    /// A name by which requests may call the server, besides localhost (may be repeated)
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// Web pages of this origin may use the server (may be repeated)
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// Do not watch the tools' files: changes count after a refresh
    #[arg(long)]
    no_watch: bool,
}

impl Network {
    pub(super) fn followed_by(&self, later: &Network) -> Network {
        let (earlier, later) = (self.clone(), later.clone());
        let says_token = later.no_token || later.token_file.is_some();
        let (no_token, token_file) = if says_token {
            (later.no_token, later.token_file)
        } else {
            (earlier.no_token, earlier.token_file)
        };
        Network {
            listen: later.listen.or(earlier.listen),
            token_file,
            no_token,
            allow_anyone: earlier.allow_anyone || later.allow_anyone,
            allow_host: [earlier.allow_host, later.allow_host].concat(),
            allow_origin: [earlier.allow_origin, later.allow_origin].concat(),
            no_watch: earlier.no_watch || later.no_watch,
        }
    }

    /// Returns true if an address was typed.
    pub(super) fn says_where(&self) -> bool {
        self.listen.is_some()
    }

    /// Returns the flags in the form that the configuration takes.
    pub(super) fn flags(&self) -> Result<ServeFlags, Failure> {
        let from_file = self.token_file.as_deref().map(Token::from_file);
        let from_file = from_file.transpose().map_err(|problem| {
            Error::new(ErrorKind::Usage, format!("--token-file {problem}"))
                .with_hint("name a readable file that holds the token and nothing else")
        })?;
        if let Some(path) = self.token_file.as_deref()
            && Token::is_readable_by_others(path)
        {
            let path = path.display();
            say(&terminal_text!(
                "warning: others can read the token in {path}\nhint: chmod 600 {path}\n"
            ));
        }
        if self.no_token && from_file.is_some() {
            let text = "--no-token and --token-file do not go together";
            return Err(Error::new(ErrorKind::Usage, text)
                .with_hint("leave one of them out")
                .into());
        }
        Ok(ServeFlags {
            listen: self.listen.clone(),
            token: from_file,
            no_token: self.no_token,
            allow_anyone: self.allow_anyone,
            allowed_hosts: self.allow_host.clone(),
            allowed_origins: self.allow_origin.clone(),
            with_builtin_tools: true,
            no_watch: self.no_watch,
            // Of `haft serve nats` alone.
            ..ServeFlags::default()
        })
    }
}
