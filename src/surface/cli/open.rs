//! `haft open`: opens the page of a running server in a browser, with its token.
//!
//! The token must not appear in a program's arguments. So the browser opens a private file that
//! redirects to the page.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::exit::{FAILURE, Failure, SUCCESS};
use super::flags::Globals;
use crate::credentials::{Running, running};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::{Config, ListenAddress};
use haft_process::{End, Spawn, find_installed};
use haft_tool::{Error, ErrorKind, terminal_text};

/// Open the page of a running `haft serve` in the browser
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft open                 the server that runs
  haft open 8080            the one at this port, where several run
  haft open --print         the address with the token, for a browser elsewhere
  haft open --check         is the server well?
  curl --oauth2-bearer \"$(haft open --token)\" http://127.0.0.1:4238/api/tools

Servers are found by the private files that they keep as long as they run. Where there is no browser,
the address is printed. Whoever has the token can do with the server whatever you can.")]
pub(super) struct Args {
    /// The server: HOST:PORT or PORT [default: the only one, or the one at the configured address]
    address: Option<String>,

    /// Print the address with the token, and open nothing
    #[arg(long, conflicts_with = "token")]
    print: bool,

    /// Print the token alone
    #[arg(long)]
    token: bool,

    /// Ask the server only whether it is well, for health checks; exit code 0 or 1
    #[arg(long, conflicts_with_all = ["print", "token"])]
    check: bool,
}

/// Longest wait of `--check` for each step of the exchange.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let config = Config::resolve(globals.flags())?;
        if self.check {
            return Ok(check(&self.checked_address(&config)?));
        }
        let servers = running(&config.runtime_dir);
        let server = self.choose(&servers, &config)?;
        if self.token {
            let token = server.token.as_ref().ok_or_else(|| {
                let text = format!("the server at {} wants no token", server.address);
                Error::new(ErrorKind::Usage, text)
            })?;
            out.print_line(&terminal_text!("{token}"))?;
            return Ok(SUCCESS);
        }
        let site = site(&server.address);
        let url = match &server.token {
            Some(token) => format!("{site}#token={}", percent_encoded(token, b"")),
            None => site.clone(),
        };
        let browser = config.browser.as_deref().filter(|_| !self.print);
        if let Some(words) = browser.filter(|words| is_there(words))
            && open(words, server, &url).await?
        {
            say(&terminal_text!("opened {site} in the browser\n"));
            return Ok(SUCCESS);
        }
        out.print_line(&terminal_text!("{url}"))?;
        Ok(SUCCESS)
    }

    /// Returns the address that `--check` asks: the given one, else the configured one. A server that
    /// runs as another user, or whose token is configured, is checked too, so no file is searched.
    fn checked_address(&self, config: &Config) -> Result<String, Error> {
        match &self.address {
            None => Ok(config.serve.listen.to_string()),
            Some(address) => match address.parse::<ListenAddress>() {
                Ok(address) => Ok(address.to_string()),
                Err(problem) => Err(Error::new(ErrorKind::Usage, problem)),
            },
        }
    }

    fn choose<'a>(&self, servers: &'a [Running], config: &Config) -> Result<&'a Running, Error> {
        let named = |address: &str| servers.iter().find(|one| one.address == address);
        let found = match (&self.address, servers) {
            (Some(address), _) => {
                let address = match address.parse::<ListenAddress>() {
                    Ok(address) => address.to_string(),
                    Err(problem) => return Err(Error::new(ErrorKind::Usage, problem)),
                };
                named(&address)
            }
            (None, [only]) => Some(only),
            (None, _) => named(&config.serve.listen.to_string()),
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let addresses: Vec<&str> = servers.iter().map(|one| one.address.as_str()).collect();
        Err(match (addresses.as_slice(), &self.address) {
            ([], _) => Error::new(ErrorKind::Usage, "no server of yours runs with a port")
                .with_hint("start one with `haft serve`"),
            (some, Some(address)) => {
                let text = format!("no server of yours runs at `{address}`");
                Error::new(ErrorKind::Usage, text)
                    .with_hint(format!("there is: {}", some.join(", ")))
            }
            (several, None) => Error::new(ErrorKind::Usage, "several servers of yours run")
                .with_hint(format!("name one: {}", several.join(", "))),
        })
    }
}

/// Asks the server at the address for its health, and returns the exit code.
fn check(address: &str) -> u8 {
    match status_of_health(address) {
        Ok(200) => {
            say(&terminal_text!("the server at {address} is well\n"));
            SUCCESS
        }
        Ok(status) => {
            say(&terminal_text!(
                "the server at {address} is not well: status {status}\n"
            ));
            FAILURE
        }
        Err(error) => {
            say(&terminal_text!("no server answers at {address}: {error}\n"));
            FAILURE
        }
    }
}

/// Returns the status of `GET /api/health`, which needs no token.
fn status_of_health(address: &str) -> io::Result<u16> {
    if let Some(path) = address.strip_prefix("unix:") {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(CHECK_TIMEOUT))?;
        stream.set_write_timeout(Some(CHECK_TIMEOUT))?;
        return status_on(stream, "localhost");
    }
    let host = local(address);
    let socket = host.to_socket_addrs()?.next();
    let stream = TcpStream::connect_timeout(
        &socket.ok_or(io::ErrorKind::AddrNotAvailable)?,
        CHECK_TIMEOUT,
    )?;
    stream.set_read_timeout(Some(CHECK_TIMEOUT))?;
    stream.set_write_timeout(Some(CHECK_TIMEOUT))?;
    status_on(stream, &host)
}

fn status_on(mut stream: impl Read + Write, host: &str) -> io::Result<u16> {
    write!(
        stream,
        "GET /api/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )?;
    let mut start = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut start)?;
    let status = std::str::from_utf8(&start).ok();
    let status = status.and_then(|line| line.strip_prefix("HTTP/1.1 ")?.parse().ok());
    status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it does not speak HTTP"))
}

/// Returns the address of the page for a browser on this machine.
fn site(address: &str) -> String {
    format!("http://{}/", local(address))
}

/// Returns where a server that listens everywhere is reached from this machine.
fn local(address: &str) -> String {
    match address.rsplit_once(':') {
        Some(("0.0.0.0", port)) => format!("127.0.0.1:{port}"),
        Some(("[::]", port)) => format!("[::1]:{port}"),
        _ => address.to_owned(),
    }
}

/// Returns true if the program that opens pages exists.
fn is_there(words: &[String]) -> bool {
    let program = words.first().map(String::as_str).unwrap_or_default();
    if program.contains('/') {
        Path::new(program).is_file()
    } else {
        find_installed(program).is_some()
    }
}

/// Shell script that starts its arguments in the background, since a browser may stay open for long.
/// It fails if the program fails within a second.
const START: &str = r#"
"$@" >/dev/null 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.1
    kill -0 $! 2>/dev/null || { wait $!; exit; }
done
"#;

/// Opens a file that redirects to `url`. Returns false if the browser fails at once.
async fn open(words: &[String], server: &Running, url: &str) -> Result<bool, Failure> {
    let html = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>haft</title>\n"
    );
    let path = server.write_page(&html)?.display().to_string();
    let file = format!("file://{}", percent_encoded(&path, b"/"));
    Ok(show(words, &file).await)
}

/// Starts the browser, whose command line is `words`, with an address. Returns false if it cannot be
/// started.
pub(super) async fn show(words: &[String], address: &str) -> bool {
    let is_placed = words.iter().any(|word| word.contains("%s"));
    let placed = words.iter().map(|word| word.replace("%s", address));
    let words: Vec<String> = if is_placed {
        placed.collect()
    } else {
        placed.chain([address.to_owned()]).collect()
    };
    let shell = ["-c", START, "sh"].map(str::to_owned);
    let spawn = Spawn::new("sh", shell.into_iter().chain(words));
    let finished = spawn.run(&CancellationToken::new()).await;
    finished.is_ok_and(|finished| finished.end == End::Exited(0))
}

/// Percent-encodes the text for a URL, except letters, digits, `-._~` and the bytes of `plain`.
fn percent_encoded(text: &str, plain: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || plain.contains(&byte) {
            encoded.push(char::from(byte))
        } else {
            encoded.push_str(&format!("%{byte:02X}"))
        }
    }
    encoded
}
