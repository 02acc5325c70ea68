//! Who may talk to a server: judgements about one request, without a socket.
//!
//! A web page that somebody has open can make the browser send requests to this machine. It cannot
//! choose the `Host` that it was loaded from (so a name that suddenly means 127.0.0.1 is found out),
//! nor hide its `Origin`, nor know the token.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Request, Version};

use super::fault::Fault;
use crate::config::Serve;
use crate::error::{Error, ErrorKind};

/// What a server lets in.
pub(crate) struct Access {
    /// Nobody but this machine can reach it.
    is_loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Compared by its hash, and hashes in constant time: the answer's time tells nothing of it.
    token: Option<blake3::Hash>,
}

/// A web page of another server, which the user lets in.
pub(super) struct Guest(pub(super) HeaderValue);

impl Access {
    /// What a server lets in that is bound to this address.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if others could reach it and there is no token.
    pub(crate) fn new(serve: &Serve, bound: SocketAddr) -> Result<Access, Error> {
        let is_loopback = bound.ip().to_canonical().is_loopback();
        if !is_loopback && serve.token.is_none() {
            let text = format!("{bound} can be reached by others, and there is no token");
            return Err(Error::new(ErrorKind::Usage, text).with_hint(
                "put one into a file and name it with --token-file, or set HAFT_SERVE_TOKEN; \
                 or listen on 127.0.0.1",
            ));
        }
        let token = serve.token.as_ref();
        Ok(Access {
            is_loopback,
            hosts: serve.allowed_hosts.clone(),
            origins: serve.allowed_origins.clone(),
            token: token.map(|token| blake3::hash(token.text().as_bytes())),
        })
    }

    /// Whether a client has to know a token.
    pub(crate) fn wants_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether the request means this server, by a name that only this machine or the user gives.
    pub(super) fn check_host<B>(&self, request: &Request<B>) -> Result<(), Fault> {
        let mut named = request.headers().get_all(HOST).iter();
        let (first, second) = (named.next(), named.next());
        if second.is_some() {
            return Err(Fault::bad_request("there is more than one Host header"));
        }
        let first = match first {
            Some(host) => host.to_str().ok(),
            // Browsers do not speak it any more.
            None if request.version() < Version::HTTP_11 => return Ok(()),
            None => return Err(Fault::bad_request("there is no Host header")),
        };
        let target = request.uri().authority().map(Authority::as_str);
        let named = first.into_iter().chain(target);
        // Not even an address would do for what is not text.
        match first.is_some() && named.into_iter().all(|host| self.knows(host)) {
            true => Ok(()),
            false => Err(Fault::forbidden(format!(
                "this server is not known as `{}`",
                first.unwrap_or("something that is no text")
            ))
            .hint("start it with --allow-host NAME if it should be")),
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
            // Nobody's name service can make a page's own name out of this.
            Some(address) => !self.is_loopback || address.to_canonical().is_loopback(),
            None if self.is_loopback => name == "localhost",
            // Others reach it by names that we cannot know; the token tells them apart.
            None => self.hosts.is_empty(),
        }
    }

    /// Whether the web page that sends the request may; none for whoever is no page of another
    /// server.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<Option<Guest>, Fault> {
        let Some(origin) = headers.get(ORIGIN) else {
            return Ok(None);
        };
        let text = origin.to_str().unwrap_or_default();
        if headers.get(HOST).is_some_and(|host| is_own(text, host)) {
            return Ok(None);
        }
        let lower = text.to_ascii_lowercase();
        match self.origins.contains(&lower) {
            true => Ok(Some(Guest(origin.clone()))),
            false => Err(
                Fault::forbidden(format!("pages of {text} may not use this server"))
                    .hint("start it with --allow-origin ORIGIN if they should"),
            ),
        }
    }

    /// Whether the client knows the token, if there is one.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let Some(token) = self.token else {
            return Ok(());
        };
        let Some(given) = headers.get(AUTHORIZATION) else {
            return Err(Fault::unauthorized("this server wants a token")
                .hint("send it as `Authorization: Bearer TOKEN`"));
        };
        let bytes = given.as_bytes();
        let (scheme, rest) = bytes.split_at_checked("Bearer ".len()).unwrap_or_default();
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
        match is_bearer && blake3::hash(rest.trim_ascii()) == token {
            true => Ok(()),
            false => Err(Fault::unauthorized("the token is wrong")),
        }
    }
}

/// An address in a `Host`, where those of IPv6 stand in brackets.
fn address(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(name).parse().ok()
}

/// Whether a page of this origin was loaded from this very server.
fn is_own(origin: &str, host: &HeaderValue) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    // A proxy before us may speak TLS.
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let host = host.to_str().unwrap_or_default();
    let bare = |text: &str| {
        text.strip_suffix(default_port)
            .unwrap_or(text)
            .to_ascii_lowercase()
    };
    bare(authority) == bare(host)
}
