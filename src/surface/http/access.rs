//! Access control of a server: checks of one request, independent of the socket.
//!
//! Any web page that is open in a browser can send requests to this machine. It cannot choose the
//! `Host` that it was loaded from, so a name that was rebound to 127.0.0.1 (DNS rebinding) is
//! detected. It can neither hide its `Origin` nor the fact that it belongs to another site, and it
//! does not know the token.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Version};

use super::client::{Client, Clients};
use super::problem_response::ProblemResponse;
use crate::credentials::TokenStore;
use haft_config::Serve;
use haft_tool::{Error, ErrorKind};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Access rules of a server.
pub(crate) struct Access {
    /// True if only this machine can reach it.
    is_loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    clients: Arc<Clients>,
}

/// Origin of a web page of another server, which the user allowed.
pub(super) struct Guest(pub(super) HeaderValue);

impl Access {
    /// Creates the rules of a server. The user is recognized by `token`, or if that is `None` by
    /// the connection alone.
    pub(crate) fn new(
        serve: &Serve,
        is_loopback: bool,
        token: Option<&str>,
        store: TokenStore,
    ) -> Access {
        Access {
            is_loopback,
            hosts: serve.allowed_hosts.clone(),
            origins: serve.allowed_origins.clone(),
            clients: Arc::new(Clients::new(serve, token, store)),
        }
    }

    /// Returns the client that sends a request with these headers.
    pub(super) fn identify(&self, headers: &HeaderMap) -> Result<Arc<Client>, ProblemResponse> {
        self.clients.identify(headers)
    }

    /// Checks that the `Host` of the request is a known name of this server.
    pub(super) fn check_host<B>(&self, request: &Request<B>) -> Result<(), ProblemResponse> {
        let mut named = request.headers().get_all(HOST).iter();
        let (first, second) = (named.next(), named.next());
        if second.is_some() {
            return Err(ProblemResponse::bad_request(
                "there is more than one Host header",
            ));
        }
        let first = match first {
            Some(host) => host.to_str().ok(),
            // Browsers do not use HTTP/1.0 any more.
            None if request.version() < Version::HTTP_11 => return Ok(()),
            None => return Err(ProblemResponse::bad_request("there is no Host header")),
        };
        let target = request.uri().authority().map(Authority::as_str);
        let named = first.into_iter().chain(target);
        // A `Host` that is not text cannot be an address either.
        if first.is_some() && named.into_iter().all(|host| self.knows(host)) {
            Ok(())
        } else {
            Err(ProblemResponse::forbidden(format!(
                "this server is not known as `{}`",
                first.unwrap_or("something that is not text")
            ))
            .hint("start it with --allow-host NAME if it should be"))
        }
    }

    fn knows(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        if authority.as_str().contains('@') {
            return false;
        }
        let name = authority.host().to_ascii_lowercase();
        let listed = |known: &String| *known == name || known == host;
        if self.hosts.iter().any(listed) {
            return true;
        }
        match address(&name) {
            // DNS rebinding cannot forge an address: a page is loaded from a name.
            Some(address) => !self.is_loopback || address.to_canonical().is_loopback(),
            None if self.is_loopback => name == "localhost",
            // On other networks the server has names that are unknown here. The token protects it.
            None => self.hosts.is_empty(),
        }
    }

    /// Checks that the web page that sends the request is allowed. Returns `None` if the request
    /// does not come from a page of another server.
    pub(super) fn check_origin<B>(
        &self,
        request: &Request<B>,
    ) -> Result<Option<Guest>, ProblemResponse> {
        let headers = request.headers();
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (Some(_), Some(_)) => {
                return Err(ProblemResponse::bad_request(
                    "there is more than one Origin header",
                ));
            }
            (origin, _) => origin,
        };
        if let Some(origin) = origin {
            let text = origin.to_str().unwrap_or_default();
            if self.origins.contains(&text.to_ascii_lowercase()) {
                return Ok(Some(Guest(origin.clone())));
            }
            if !headers.get(HOST).is_some_and(|host| is_own(text, host)) {
                return Err(ProblemResponse::forbidden(format!(
                    "pages of {text} may not use this server"
                ))
                .hint("start it with --allow-origin ORIGIN if they should"));
            }
        }
        // Some requests of a page have no `Origin`, but browsers always send `Sec-Fetch-Site`.
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        let is_same = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        if sites.all(is_same) || is_visit(request) {
            Ok(None)
        } else {
            Err(
                ProblemResponse::forbidden("pages of another site may not use this server")
                    .hint("start it with --allow-origin ORIGIN if they should"),
            )
        }
    }
}

/// Returns true if a bound address is only reachable from this machine.
pub(crate) fn is_loopback(bound: SocketAddr) -> bool {
    bound.ip().to_canonical().is_loopback()
}

/// The error for a server that is reachable by others and requires no token.
pub(crate) fn reachable_by_others(bound: SocketAddr) -> Error {
    let text = format!("{bound} can be reached by others, and there is no token");
    Error::new(ErrorKind::Usage, text).with_hint(
        "leave out --no-token, or listen on 127.0.0.1; --allow-anyone lets everyone in who reaches it",
    )
}

/// Returns true if the user followed a link to our page. The page is public and cannot be framed.
fn is_visit<B>(request: &Request<B>) -> bool {
    let is = |name: HeaderName, value: &str| {
        let mut values = request.headers().get_all(name).iter();
        values.next().is_some_and(|first| first == value) && values.next().is_none()
    };
    request.method() == Method::GET
        && request.uri().path() == "/"
        && is(SEC_FETCH_MODE, "navigate")
        && is(SEC_FETCH_DEST, "document")
}

/// Parses an address in a `Host`, where IPv6 addresses are in brackets.
fn address(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(name).parse().ok()
}

/// Returns true if a page of this origin was loaded from this server, which does not use TLS.
fn is_own(origin: &str, host: &HeaderValue) -> bool {
    let Some(authority) = origin.strip_prefix("http://") else {
        return false;
    };
    let host = host.to_str().unwrap_or_default();
    let bare = |text: &str| {
        let bare = text.strip_suffix(":80").unwrap_or(text);
        bare.to_ascii_lowercase()
    };
    bare(authority) == bare(host)
}
