//! Filtering HTTP proxy on the loopback, for programs whose sandbox allows its port only.
//!
//! Landlock knows ports and no host names. So a sandbox with a list of hosts gets one port,
//! [`Net::Ports`](super::Net::Ports), and the variables that make programs use the proxy behind
//! it. The proxy asks the caller for every host and port, and resolves the name itself. An address
//! that is not public needs a rule that names the host, so that a name of a foreign zone does not
//! lead into the local network.
//!
//! It handles `CONNECT` (HTTPS and other protocols) and requests with an absolute URL (HTTP). The
//! name inside of TLS is not visible to it: a server behind an allowed name can serve other names.
//!
//! Every request needs a random token, which only the program's variables hold. The token keeps
//! out other programs of the machine, and tells the proxies of two tools apart.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, UPGRADE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Limit of the connections at the same time. Further ones wait.
const MAX_CONNECTIONS: usize = 128;

/// Limit of the bytes before the body of a request.
const MAX_HEADER_BYTES: usize = 64 * 1024;

const MAX_HEADERS: usize = 100;

/// Time for a client to send a whole header, and for a connection without a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Time to find and to reach a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time without data in both directions after which a tunnel ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Size of the buffer of one direction of a tunnel.
const BUFFER_BYTES: usize = 16 * 1024;

const TOKEN_BYTES: usize = 24;

/// Pause after a connection that could not be accepted, such as for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Headers that concern one connection only (RFC 9110, 7.6.1), except `Connection` itself.
const HOP_BY_HOP: [HeaderName; 5] = [
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    TE,
    UPGRADE,
];

/// Permission to reach a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// A rule allows it without its name, such as "all hosts". Only public addresses are reached.
    General,
    /// A rule names this very host or address. Every address is reached.
    Named,
}

/// Decisions about hosts.
pub trait HostPolicy: Send + Sync {
    /// Decides about a host, in lower case without a dot at the end, and a port.
    ///
    /// # Errors
    /// The text that the program gets.
    fn check_host(&self, host: &str, port: u16) -> Result<Grant, String>;

    /// Returns the refusal of an address that an allowed name was resolved to, if the address is
    /// denied.
    fn refuse_address(&self, address: IpAddr, port: u16) -> Option<String>;
}

type Body = BoxBody<Bytes, hyper::Error>;

/// Running proxy. Dropping it ends all of its connections.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    token: String,
    _stop: DropGuard,
}

impl Proxy {
    /// Starts a proxy on the current tokio runtime.
    ///
    /// # Errors
    /// If no port or no random numbers are available.
    pub async fn start(policy: impl HostPolicy + 'static) -> io::Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let stop = CancellationToken::new();
        let server = Arc::new(Server {
            policy: Box::new(policy),
            credentials: blake3::hash(credentials(&token).as_bytes()),
            port,
            stop: stop.clone(),
        });
        tokio::spawn(
            stop.clone()
                .run_until_cancelled_owned(accept(listener, server)),
        );
        Ok(Proxy {
            port,
            token,
            _stop: stop.drop_guard(),
        })
    }

    /// Returns the port of the proxy, for [`Net::Ports`](super::Net::Ports).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address with the token.
    pub fn url(&self) -> String {
        format!(
            "http://haft:{}@{}:{}",
            self.token,
            Ipv4Addr::LOCALHOST,
            self.port
        )
    }

    /// Returns the variables that make programs use the proxy. Most programs read one of the
    /// spellings; Node.js needs a switch. No host is excepted.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let proxies = [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ];
        let proxies = proxies.into_iter().map(|name| (name, self.url()));
        let others = [
            ("NO_PROXY", String::new()),
            ("no_proxy", String::new()),
            ("NODE_USE_ENV_PROXY", "1".to_owned()),
        ];
        proxies.chain(others).collect()
    }
}

struct Server {
    policy: Box<dyn HostPolicy>,
    /// Hash of the expected credentials; comparing hashes takes the same time for every input.
    credentials: blake3::Hash,
    port: u16,
    stop: CancellationToken,
}

fn credentials(token: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("haft:{token}")))
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "the proxy cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let stop = server.stop.clone();
        tokio::spawn(stop.run_until_cancelled_owned(connection(
            stream,
            Arc::clone(&server),
            Arc::new(permit),
        )));
    }
}

async fn connection(stream: TcpStream, server: Arc<Server>, permit: Arc<OwnedSemaphorePermit>) {
    let answer = service_fn(|request| {
        let (server, permit) = (Arc::clone(&server), Arc::clone(&permit));
        async move { Ok::<_, Infallible>(server.answer(request, permit).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the proxy failed");
    }
}

/// A request that is not passed on, with the text for the program.
struct Refused(StatusCode, String);

impl Server {
    async fn answer(
        &self,
        request: Request<Incoming>,
        permit: Arc<OwnedSemaphorePermit>,
    ) -> Response<Body> {
        let answered = match self.check_token(request.headers()) {
            Err(refused) => Err(refused),
            Ok(()) if request.method() == Method::CONNECT => self.tunnel(request, permit).await,
            Ok(()) => self.forward(request).await,
        };
        answered.unwrap_or_else(|Refused(status, text)| {
            let mut response = Response::new(full(text + "\n"));
            *response.status_mut() = status;
            let headers = response.headers_mut();
            let plain = HeaderValue::from_static("text/plain; charset=utf-8");
            headers.insert(CONTENT_TYPE, plain);
            if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
                let basic = HeaderValue::from_static("Basic realm=\"haft\"");
                headers.insert(PROXY_AUTHENTICATE, basic);
            }
            response
        })
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let given = headers.get(PROXY_AUTHORIZATION);
        let given = given.map(|given| blake3::hash(given.as_bytes()));
        if given == Some(self.credentials) {
            return Ok(());
        }
        let text = "this proxy serves one tool of haft only";
        let status = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        Err(Refused(status, text.to_owned()))
    }

    /// Handles `CONNECT`.
    async fn tunnel(
        &self,
        mut request: Request<Incoming>,
        permit: Arc<OwnedSemaphorePermit>,
    ) -> Result<Response<Body>, Refused> {
        let (host, port) = target(request.uri(), None)?;
        let server = self.connect(&host, port).await?;
        let upgrade = hyper::upgrade::on(&mut request);
        let stop = self.stop.clone();
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let _permit = permit;
            match upgrade.await {
                Ok(client) => relay(TokioIo::new(client), server).await,
                Err(error) => tracing::debug!(%error, "a tunnel was not opened"),
            }
        }));
        Ok(Response::new(empty()))
    }

    /// Handles a request with an absolute URL.
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Refused> {
        let uri = request.uri();
        if uri.scheme_str() != Some("http") {
            let text = "the proxy needs a URL with `http://` and a host, or CONNECT";
            return Err(Refused(StatusCode::BAD_REQUEST, text.to_owned()));
        }
        let (host, port) = target(uri, Some(80))?;
        let stream = self.connect(&host, port).await?;
        let failed =
            |error: hyper::Error| Refused(StatusCode::BAD_GATEWAY, format!("`{host}`: {error}"));
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(failed)?;
        tokio::spawn(self.stop.clone().run_until_cancelled_owned(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a forwarded request failed");
            }
        }));
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = path.parse().map_err(|_| bad_request())?;
        // The name that was checked, whatever the client put there.
        let name = uri.authority().map_or("", |authority| {
            let authority = authority.as_str();
            authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host)
        });
        let name = HeaderValue::from_str(name).map_err(|_| bad_request())?;
        *request.uri_mut() = path;
        request.headers_mut().insert(HOST, name);
        remove_hop_by_hop(request.headers_mut());
        let mut response = sender.send_request(request).await.map_err(failed)?;
        remove_hop_by_hop(response.headers_mut());
        Ok(response.map(BodyExt::boxed))
    }

    /// Checks the permission, resolves the name and connects.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Refused> {
        let refused = |text: String| Refused(StatusCode::FORBIDDEN, text);
        let grant = self.policy.check_host(host, port).map_err(refused)?;
        let unreachable = |error: &dyn std::fmt::Display| {
            Refused(StatusCode::BAD_GATEWAY, format!("`{host}:{port}`: {error}"))
        };
        let late = |_| {
            Refused(
                StatusCode::GATEWAY_TIMEOUT,
                format!("`{host}:{port}`: timed out"),
            )
        };
        let found = timeout(CONNECT_TIMEOUT, lookup_host((host, port))).await;
        let found = found.map_err(late)?.map_err(|error| unreachable(&error))?;
        let found: Vec<SocketAddr> = found.collect();
        let mut addresses = found.iter();
        let denied = addresses.find_map(|found| self.policy.refuse_address(found.ip(), port));
        if let Some(text) = denied {
            return Err(refused(text));
        }
        // The proxy would connect to itself without end.
        let is_own = |address: &SocketAddr| address.port() == self.port && !is_public(address.ip());
        let may = |address: &&SocketAddr| {
            (grant == Grant::Named || is_public(address.ip())) && !is_own(address)
        };
        let addresses: Vec<SocketAddr> = found.iter().filter(may).copied().collect();
        if addresses.is_empty() && !found.is_empty() {
            return Err(refused(format!(
                "`{host}` is in a private network; the permission must name this host"
            )));
        }
        let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect(&addresses[..])).await;
        stream.map_err(late)?.map_err(|error| unreachable(&error))
    }
}

fn bad_request() -> Refused {
    Refused(
        StatusCode::BAD_REQUEST,
        "the URL has no valid host".to_owned(),
    )
}

/// Returns the host and port of a URL, in one spelling for the check and for the resolver.
fn target(uri: &Uri, default_port: Option<u16>) -> Result<(String, u16), Refused> {
    let host = uri.host().ok_or_else(bad_request)?;
    let port = uri.port_u16().or(default_port).ok_or_else(bad_request)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if host.parse::<Ipv6Addr>().is_err() && (host.is_empty() || !host.bytes().all(is_name)) {
        return Err(bad_request());
    }
    Ok((host, port))
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in listed.iter().chain(&HOP_BY_HOP).chain([&CONNECTION]) {
        headers.remove(name);
    }
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed()
}

fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}

/// Copies in both directions until both have ended, or nothing moves for a while.
async fn relay(client: TokioIo<hyper::upgrade::Upgraded>, server: TcpStream) {
    let moved = AtomicU64::new(0);
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let both = async {
        tokio::join!(
            copy(&mut from_client, &mut to_server, &moved),
            copy(&mut from_server, &mut to_client, &moved),
        )
    };
    let idle = async {
        loop {
            let before = moved.load(Ordering::Relaxed);
            sleep(IDLE_TIMEOUT).await;
            if moved.load(Ordering::Relaxed) == before {
                break;
            }
        }
    };
    tokio::select! {
        _ = both => {}
        () = idle => tracing::debug!("an idle tunnel was closed"),
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    moved: &AtomicU64,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(length) = from.read(&mut buffer).await {
        if length == 0 || to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
        moved.fetch_add(1, Ordering::Relaxed);
    }
    // The other direction may go on.
    let _ = to.shutdown().await;
}

/// Returns true for an address of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let octets = address.octets();
    let is_special = match octets {
        // "This network", carrier-grade NAT, protocol assignments, benchmarks, reserved.
        [0, ..] | [192, 0, 0, _] | [198, 18..=19, ..] | [240..=255, ..] => true,
        [100, 64..=127, ..] => true,
        _ => false,
    };
    !(is_special
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Addresses that contain one of version 4: mapped, compatible, NAT64, 6to4.
    let embedded = match segments {
        [0, 0, 0, 0, 0, 0 | 0xFFFF, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            Some((high, low))
        }
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    if let Some((high, low)) = embedded {
        return is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    }
    // Unicast addresses are assigned from 2000::/3 only; 2001:db8::/32 is documentation, and
    // 2001::/23 holds tunnels and other special purposes.
    let is_global = segments[0] & 0xE000 == 0x2000;
    let is_special = segments[0] == 0x2001 && (segments[1] < 0x200 || segments[1] == 0xDB8);
    is_global && !is_special
}
