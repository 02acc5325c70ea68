//! The one HTTP client: rustls, the machine's certificates, no automatic behaviour.
//!
//! It follows no redirect, decodes no compression and keeps no connection. `send` decides about
//! redirects and compression, and a kept connection would belong to a runtime that may be gone.

use std::sync::LazyLock;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Client, redirect};

use crate::family::http_tls;

const USER_AGENT: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// Returns the client, or the reason why it cannot be created.
pub(super) fn client() -> Result<&'static Client, String> {
    static CLIENT: LazyLock<Result<Client, String>> = LazyLock::new(make);
    CLIENT.as_ref().map_err(Clone::clone)
}

fn make() -> Result<Client, String> {
    let tls = http_tls::config()?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    // A proxy of the environment counts, as it does for aynd's own `fetch`: some firewalls let
    // nothing else out.
    Client::builder()
        .user_agent(USER_AGENT)
        .default_headers(headers)
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| format!("no HTTP client: {error}"))
}
