//! HTTP client of servers and of logins.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, redirect};
use rustls::ClientConfig;
use url::Url;

/// Makes the settings of TLS, or says why there are none.
pub type TlsConfig = Arc<dyn Fn() -> Result<ClientConfig, String> + Send + Sync>;

const USER_AGENT: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// Returns a client that sends the headers with each request. A redirect could send them to another
/// host, so only redirects to the same host are followed.
pub(crate) fn client(tls: &TlsConfig, headers: &[(String, String)]) -> Result<Client, String> {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is not the name of a header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{name}` is invalid"))?;
        value.set_sensitive(true);
        all.append(header, value);
    }
    let same_host = redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        if first == Some(attempt.url().origin()) && attempt.previous().len() < 5 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    Client::builder()
        .user_agent(USER_AGENT)
        .default_headers(all)
        .tls_backend_preconfigured(tls()?)
        .redirect(same_host)
        .build()
        .map_err(|error| format!("no HTTP client: {error}"))
}

/// Returns the error without the URL, which may contain a secret.
pub(crate) fn plain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let own = error.to_string();
        let own = own.split(" for url").next().unwrap_or_default();
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(own);
        cause = error.source();
    }
    text
}
