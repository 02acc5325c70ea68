//! The start of a connection with a server: address, identity, and what went wrong.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{AuthError, ReconnectToServer, ServerAddr};
use nkeys::{KeyPair, KeyPairType};
use parking_lot::Mutex;
use tokio::time::timeout;
use url::Url;

use haft_tool::schema::percent_decoded;

use crate::tls::{self, MachineRoots, TlsFiles};

/// Time for a connection with one server, up to its first answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Delay before a new connection; it doubles up to the other one while the server is not reached.
const RECONNECT_DELAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Interval of pings. A server that leaves two unanswered is gone.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Number of messages that wait to be written. Others are dropped; `link` sends them again.
const UNWRITTEN: usize = 64 << 10;

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

/// Chooses the server of each connection, and identifies the client there.
pub(crate) struct Dialer {
    options: ConnectOptions,
    state: Mutex<Dialing>,
}

#[derive(Default)]
struct Dialing {
    /// Number of tries with each server since the last connection.
    tries: Vec<u32>,
    /// Index of the server that is tried.
    current: usize,
    /// Reason why the client has no identity.
    fault: Option<String>,
}

impl Dialer {
    pub(crate) fn new(options: ConnectOptions) -> Arc<Dialer> {
        let tries = vec![0; options.servers.len()];
        Arc::new(Dialer {
            options,
            state: Mutex::new(Dialing {
                tries,
                ..Dialing::default()
            }),
        })
    }

    /// Connects with the first server that accepts the client. The client then uses all of them.
    /// `hear` gets what happens to the connection, and the reasons why there is none.
    pub(crate) async fn connect(
        self: &Arc<Dialer>,
        capacity: usize,
        hear: impl Fn(Heard) + Send + Sync + 'static,
    ) -> Result<async_nats::Client, ConnectError> {
        let hear = Arc::new(hear);
        let mut failures = Vec::new();
        for (index, server) in self.options.servers.iter().enumerate() {
            self.state.lock().current = index;
            let connecting = self.connect_one(server, capacity, hear.clone());
            match timeout(CONNECT_TIMEOUT, connecting).await {
                Ok(Ok(client)) => return Ok(client),
                Ok(Err(why)) => failures.push(format!("{}: {why}", shown(server))),
                Err(_) => {
                    let seconds = CONNECT_TIMEOUT.as_secs();
                    failures.push(format!("{}: no answer in {seconds} s", shown(server)));
                }
            }
        }
        if failures.is_empty() {
            failures.push("no address of a server".to_owned());
        }
        Err(ConnectError::new(failures.join("; ")))
    }

    async fn connect_one(
        self: &Arc<Dialer>,
        server: &Url,
        capacity: usize,
        hear: Arc<impl Fn(Heard) + Send + Sync + 'static>,
    ) -> Result<async_nats::Client, String> {
        match server.scheme() {
            "nats" | "tls" => {}
            other => return Err(format!("the scheme is `{other}`, not `nats` or `tls`")),
        }
        if server.host_str().is_none() {
            return Err("the address has no host".to_owned());
        }
        let (choosing, identifying) = (self.clone(), self.clone());
        let reporting = hear.clone();
        let (first, max) = RECONNECT_DELAY;
        let options = async_nats::ConnectOptions::with_auth_callback(move |nonce| {
            let identity = identifying.identity(&nonce);
            async move { identity.map_err(AuthError::new) }
        });
        let options = options
            .name(&self.options.name)
            .require_tls(self.options.tls.is_any())
            .tls_client_config(tls::config(&self.options.machine_roots, &self.options.tls)?)
            .connection_timeout(CONNECT_TIMEOUT)
            .ping_interval(PING_INTERVAL)
            .client_capacity(UNWRITTEN)
            .subscription_capacity(capacity)
            // Only servers that the user names get the client's identity.
            .ignore_discovered_servers()
            .event_callback(move |event| {
                hear(Heard::Event(event));
                std::future::ready(())
            })
            .reconnect_to_server_callback(move |pool, _| {
                let why = choosing.failures(&pool);
                reporting(Heard::Unconnected(why));
                std::future::ready(choosing.choose(&pool, first, max))
            });
        let connected = async_nats::connect_with_options(&address(server)?, options).await;
        let client = connected.map_err(|error| {
            let fault = self.state.lock().fault.take();
            fault.unwrap_or_else(|| reason(&error))
        })?;
        let info = client.server_info();
        if !info.headers {
            return Err(format!("the server {} has no headers", info.version));
        }
        let all: Result<Vec<ServerAddr>, String> =
            self.options.servers.iter().map(address).collect();
        let all = all.unwrap_or_default();
        if all.len() > 1 {
            let set = client.set_server_pool(all.as_slice()).await;
            set.map_err(|error| error.to_string())?;
        }
        Ok(client)
    }

    /// Notes that there is a connection.
    pub(crate) fn reset(&self) {
        self.state.lock().tries.fill(0);
    }

    /// Returns the server that was tried least often.
    fn choose(
        &self,
        pool: &[async_nats::Server],
        first: Duration,
        max: Duration,
    ) -> Option<ReconnectToServer> {
        let mut state = self.state.lock();
        let of_pool = |server: &async_nats::Server| self.index(&server.addr);
        let tries = |server: &&async_nats::Server| {
            let index = of_pool(server)?;
            state.tries.get(index).copied()
        };
        let next = pool.iter().min_by_key(|server| tries(server))?;
        let count = tries(&next).unwrap_or_default();
        let index = of_pool(next)?;
        let delay = if count == 0 && !next.did_connect {
            Duration::ZERO
        } else {
            first.saturating_mul(1 << count.min(16)).min(max)
        };
        state.current = index;
        if let Some(tries) = state.tries.get_mut(index) {
            *tries += 1;
        }
        Some(ReconnectToServer {
            addr: next.addr.clone(),
            delay: Some(delay),
        })
    }

    /// Returns the reasons why the servers were not reached, as far as they are known.
    fn failures(&self, pool: &[async_nats::Server]) -> Option<String> {
        let fault = self.state.lock().fault.take();
        let failures: Vec<String> = { pool.iter() }
            .filter_map(|server| {
                let error = server.last_error.as_ref()?;
                let shown = shown(self.options.servers.get(self.index(&server.addr)?)?);
                let why = fault.clone().unwrap_or_else(|| plain(error));
                Some(format!("{shown}: {why}"))
            })
            .collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }

    fn index(&self, addr: &ServerAddr) -> Option<usize> {
        let mut servers = self.options.servers.iter();
        servers.position(|server| address(server).is_ok_and(|known| known == *addr))
    }

    /// Returns the client's identity for the server that is tried.
    fn identity(&self, nonce: &[u8]) -> Result<async_nats::Auth, String> {
        let mut state = self.state.lock();
        let server = self.options.servers.get(state.current);
        let identity = identity(server, &self.options.auth, nonce);
        state.fault = identity.as_ref().err().cloned();
        identity
    }
}

/// News of a connection.
pub(crate) enum Heard {
    Event(async_nats::Event),
    /// A connection begins. The reasons why there is none, if they are known.
    Unconnected(Option<String>),
}

/// Returns an address without what is secret in it.
pub(crate) fn shown(server: &Url) -> String {
    let host = server.host_str().unwrap_or_default();
    let port = server.port().unwrap_or(DEFAULT_PORT);
    format!("{}://{host}:{port}", server.scheme())
}

/// Returns an address as the client gets it. What is secret in it is left out: the client writes
/// addresses to its log.
fn address(server: &Url) -> Result<ServerAddr, String> {
    shown(server).parse().map_err(|error| format!("{error}"))
}

fn identity(server: Option<&Url>, auth: &Auth, nonce: &[u8]) -> Result<async_nats::Auth, String> {
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| format!("{}: {error}", path.display()))
    };
    let named = |path: &PathBuf, why: &str| format!("{}: {why}", path.display());
    let mut identity = async_nats::Auth::new();
    let key = match auth {
        Auth::Address => {
            let decoded = |text: &str| Some(percent_decoded(text));
            let user = server.map_or("", Url::username);
            match (user, server.and_then(Url::password)) {
                ("", _) => {}
                (token, None) => identity.token = decoded(token),
                (user, Some(password)) => {
                    identity.username = decoded(user);
                    identity.password = decoded(password);
                }
            }
            return Ok(identity);
        }
        Auth::NkeyFile(path) => {
            let text = read(path)?;
            let seed = text.lines().find(|line| line.starts_with('S'));
            let key = user_key(seed.unwrap_or_default()).map_err(|why| named(path, why))?;
            identity.nkey = Some(key.public_key());
            key
        }
        Auth::CredsFile(path) => {
            let text = read(path)?;
            let (token, seed) = credentials(&text).map_err(|why| named(path, why))?;
            identity.jwt = Some(token.to_owned());
            user_key(seed).map_err(|why| named(path, why))?
        }
    };
    let signature = key.sign(nonce);
    identity.signature = Some(signature.map_err(|error| format!("no signature: {error}"))?);
    Ok(identity)
}

/// Reads the seed of a user: `SU…`.
fn user_key(seed: &str) -> Result<KeyPair, &'static str> {
    let key = KeyPair::from_seed(seed.trim()).map_err(|_| "it is not a seed of nkeys")?;
    if key.key_pair_type() != KeyPairType::User {
        return Err("it is not the seed of a user (`SU…`)");
    }
    Ok(key)
}

/// Takes the token and the seed out of the text of a `.creds` file.
fn credentials(text: &str) -> Result<(&str, &str), &'static str> {
    let block = |name: &str| {
        let begin = format!("-----BEGIN {name}-----");
        let (_, rest) = text.split_once(&begin)?;
        let (block, _) = rest.split_once("---")?;
        Some(block.trim().trim_end_matches('-').trim())
    };
    match (block("NATS USER JWT"), block("USER NKEY SEED")) {
        (Some(token), Some(seed)) => Ok((token, seed)),
        (None, _) => Err("it has no block `NATS USER JWT`"),
        (_, None) => Err("it has no block `USER NKEY SEED`"),
    }
}

/// Returns why a server was not reached.
fn reason(error: &async_nats::ConnectError) -> String {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        let of_tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match of_tls.or_else(|| error.downcast_ref()) {
            // The first bytes of the server's answer are those of its plain protocol.
            Some(rustls::Error::InvalidMessage(_)) => return "the server has no TLS".to_owned(),
            Some(error) => return format!("TLS: {error}"),
            None => source = error.source(),
        }
    }
    plain(&error.to_string())
}

/// Returns the text of an error of the client without its kind and without numbers of the system.
fn plain(text: &str) -> String {
    let kinds = ["IO error: ", "DNS error: ", "failed signing nonce: "];
    let text = kinds
        .iter()
        .find_map(|kind| text.strip_prefix(kind))
        .unwrap_or(text);
    if text.starts_with("authorization violation") {
        return "Authorization Violation".to_owned();
    }
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text.trim_start_matches("nats: ").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the documentation of nkeys; it opens nothing.
    const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    const PUBLIC: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

    #[test]
    fn other_keys_are_refused() {
        let key = user_key(&format!("{SEED}\n")).expect("it is valid");
        assert_eq!(key.public_key(), PUBLIC);
        let account = KeyPair::new_account().seed().expect("it has one");
        let damaged = SEED.replacen("CSSL", "CSSM", 1);
        for seed in [&account, &damaged, "", "SU", PUBLIC, "not base32!", "ÄÖÜ"] {
            assert!(user_key(seed).is_err(), "{seed}");
        }
    }

    #[test]
    fn credentials_have_a_token_and_a_seed() {
        let text = format!(
            "-----BEGIN NATS USER JWT-----\nabc.d-e-f.ghi\n------END NATS USER JWT------\n\n\
             ****** IMPORTANT ******\n\n-----BEGIN USER NKEY SEED-----\n{SEED}\n\
             ------END USER NKEY SEED------\n"
        );
        assert_eq!(credentials(&text), Ok(("abc.d-e-f.ghi", SEED)));
        assert!(credentials("").is_err());
        assert!(credentials(&text.replace("NKEY", "KEY")).is_err());
    }
}
