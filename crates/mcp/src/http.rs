//! Streamable HTTP, of both protocol variants.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, redirect};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rustls::ClientConfig;
use url::Url;

/// Makes the settings of TLS, or says why there are none.
pub type TlsConfig = Arc<dyn Fn() -> Result<ClientConfig, String> + Send + Sync>;

/// Limit of one event in bytes.
const MAX_EVENT_BYTES: usize = 32 << 20;

/// Number of requests of one connection at the same time.
const MAX_REQUESTS: usize = 256;

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

/// Returns the transport to a server.
pub(crate) fn transport(client: Client, url: &Url) -> StreamableHttpClientTransport<Client> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.max_sse_event_size = MAX_EVENT_BYTES;
    config = config.max_concurrent_requests(MAX_REQUESTS);
    StreamableHttpClientTransport::with_client(client, config)
}
