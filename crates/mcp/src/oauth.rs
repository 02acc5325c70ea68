//! Login to a server over HTTP: OAuth 2.1 as MCP demands it, with discovery (RFC 9728, RFC 8414),
//! dynamic registration (RFC 7591), PKCE and rotated refresh tokens.
//!
//! rmcp has it too, but its feature changes features of crates that Deno uses, so that all of them
//! would be built again. Tokens are sent to the server that they were made for, and to no other.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use crate::http_client::{TlsConfig, client, plain};
use crate::text::one_line;
use crate::tokens::{Place, TokenStore, Tokens};
use haft_tool::since_1970;

/// Limit of an answer in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Reason of a connection that the server refuses.
pub(crate) const LOGIN: &str = "it requires a login";

/// Time that the user has for the login in the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A token is refreshed this long before its end.
const REFRESH_BEFORE: Duration = Duration::from_secs(60);

/// Answer of a token endpoint.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
}

impl Tokens {
    fn take(&mut self, granted: Granted) {
        self.access_token = granted.access_token;
        if granted.refresh_token.is_some() {
            self.refresh_token = granted.refresh_token;
        }
        self.expires_at = granted
            .expires_in
            .map(|seconds| since_1970().as_secs().saturating_add(seconds));
    }

    fn is_old(&self) -> bool {
        let end = self.expires_at;
        end.is_some_and(|end| {
            end <= since_1970()
                .as_secs()
                .saturating_add(REFRESH_BEFORE.as_secs())
        })
    }
}

/// Access to the tokens of one server while it is connected.
#[derive(Clone)]
pub(crate) struct Login {
    tokens: TokenStore,
    client: Client,
    /// Held during a refresh: a refresh token can be used once.
    refreshing: Arc<Mutex<()>>,
}

impl Login {
    pub(crate) fn new(tokens: TokenStore, client: Client) -> Login {
        Login {
            tokens,
            client,
            refreshing: Arc::default(),
        }
    }

    /// Returns the access token, if there is one. An old one is refreshed first.
    ///
    /// # Errors
    /// If the keyring that has it cannot be read; a sentence.
    pub(crate) async fn token(&self) -> Result<Option<String>, String> {
        let Some(tokens) = self.tokens.read().await? else {
            return Ok(None);
        };
        if tokens.is_old() && tokens.refresh_token.is_some() {
            let refreshed = self.refreshed(&tokens.access_token).await;
            // An old token may still be accepted.
            return Ok(refreshed.or(Some(tokens.access_token)));
        }
        Ok(Some(tokens.access_token))
    }

    /// Returns another access token than the one that the server refused, if there is one.
    pub(crate) async fn refreshed(&self, refused: &str) -> Option<String> {
        let _one_at_a_time = self.refreshing.lock().await;
        let mut tokens = self.tokens.read().await.ok()??;
        if tokens.access_token != refused {
            // Another call or another process has refreshed it.
            return Some(tokens.access_token);
        }
        let refresh_token = tokens.refresh_token.clone()?;
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &refresh_token),
            ("client_id", &tokens.client_id),
            ("resource", &tokens.resource),
        ];
        match exchange(&self.client, &tokens.token_endpoint, &form).await {
            Ok(granted) => {
                tokens.take(granted);
                if let Err(error) = self.tokens.write(&tokens).await {
                    tracing::warn!(error, "a refreshed token cannot be stored");
                }
                Some(tokens.access_token)
            }
            Err(error) => {
                tracing::debug!(error, "a token cannot be refreshed");
                None
            }
        }
    }
}

/// Well-known name of the metadata of a protected resource.
const RESOURCE_METADATA: &str = "oauth-protected-resource";

/// Metadata of a protected resource.
#[derive(Deserialize)]
struct Resource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// Metadata of an authorization server.
#[derive(Deserialize)]
struct Issuer {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    registration_endpoint: Option<Url>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
}

/// A login by the user's browser.
pub struct Authorization<'a> {
    /// The server.
    pub url: &'a Url,
    /// The settings of TLS.
    pub tls: TlsConfig,
    /// Id of a client that was registered by hand, if the server registers none.
    pub client_id: Option<String>,
    /// Store of the tokens.
    pub tokens: TokenStore,
    /// Shows the user the page for the login.
    pub open: &'a (dyn Fn(&Url) + Send + Sync),
}

impl Authorization<'_> {
    /// Logs the user in, stores the tokens, and returns where.
    ///
    /// # Errors
    /// A description of the fault, as a fragment for people. It contains no token.
    pub async fn run(self) -> Result<Place, String> {
        let client = client(&self.tls, &[])?;
        Flow {
            client,
            login: self,
        }
        .run()
        .await
    }
}

/// A login with its HTTP client.
struct Flow<'a> {
    client: Client,
    login: Authorization<'a>,
}

impl Flow<'_> {
    async fn run(self) -> Result<Place, String> {
        let (resource, scope) = self.resource().await?;
        let issuer = match resource.authorization_servers.first() {
            Some(issuer) => issuer.clone(),
            None => self.login.url.origin().ascii_serialization(),
        };
        let metadata = self.issuer(&issuer).await?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.map_err(|error| format!("no port for the answer: {error}"))?;
        let port = listener
            .local_addr()
            .map_err(|error| error.to_string())?
            .port();
        let redirect = format!("http://127.0.0.1:{port}/callback");
        let client_id = match (&self.login.client_id, &metadata.registration_endpoint) {
            (Some(id), _) => id.clone(),
            (None, Some(endpoint)) => self.register(endpoint, &redirect).await?,
            (None, None) => {
                return Err(
                    "it registers no clients; give the id of one with --client-id".to_owned(),
                );
            }
        };
        let (verifier, state) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let scopes = scope.unwrap_or_else(|| resource.scopes_supported.join(" "));
        let mut page = metadata.authorization_endpoint.clone();
        page.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client_id)
            .append_pair("redirect_uri", &redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &resource.resource);
        if !scopes.is_empty() {
            page.query_pairs_mut().append_pair("scope", &scopes);
        }
        (self.login.open)(&page);
        let answer = timeout(LOGIN_TIMEOUT, answer(&listener, &state)).await;
        let answer = answer.map_err(|_| "there was no answer from the browser".to_owned())??;
        // Otherwise the code of one server could be sent to another one.
        if answer
            .get("iss")
            .is_some_and(|issuer| *issuer != metadata.issuer)
        {
            return Err("the answer is from another authorization server".to_owned());
        }
        let code = answer.get("code").ok_or("the answer has no code")?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &redirect),
            ("client_id", &client_id),
            ("code_verifier", &verifier),
            ("resource", &resource.resource),
        ];
        let granted = exchange(&self.client, &metadata.token_endpoint, &form).await?;
        let mut tokens = Tokens {
            resource: resource.resource,
            token_endpoint: metadata.token_endpoint,
            client_id,
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
        };
        tokens.take(granted);
        let written = self.login.tokens.write(&tokens).await;
        written.map_err(|error| format!("the tokens cannot be stored: {error}"))
    }

    /// Returns the metadata of the server as a resource, and the scope that it asks for.
    async fn resource(&self) -> Result<(Resource, Option<String>), String> {
        let probe = self
            .client
            .get(self.login.url.clone())
            .timeout(REQUEST_TIMEOUT)
            .send()
            .await;
        let probe = probe.map_err(|error| plain(&error))?;
        let (mut named, mut scope) = (None, None);
        if probe.status() == StatusCode::UNAUTHORIZED {
            for header in probe.headers().get_all(WWW_AUTHENTICATE) {
                let header = header.to_str().unwrap_or_default();
                named = named.or_else(|| parameter(header, "resource_metadata"));
                scope = scope.or_else(|| parameter(header, "scope"));
            }
        }
        let mut places = Vec::new();
        if let Some(named) = named {
            let place = self.login.url.join(&named);
            places.push(place.map_err(|error| format!("the address of its metadata: {error}"))?);
        }
        places.extend(well_known(self.login.url, RESOURCE_METADATA));
        for place in places {
            let Some(resource) = self.get::<Resource>(&place).await? else {
                continue;
            };
            // Tokens for another resource would be sent to this server.
            if !describes(&resource.resource, self.login.url, &place) {
                return Err(format!(
                    "its metadata are those of another resource: `{}`",
                    one_line(&resource.resource, 300)
                ));
            }
            return Ok((resource, scope));
        }
        // Servers of MCP 2025-03-26 are their own authorization servers.
        let resource = Resource {
            resource: self.login.url.to_string(),
            authorization_servers: Vec::new(),
            scopes_supported: Vec::new(),
        };
        Ok((resource, scope))
    }

    /// Returns the metadata of an authorization server.
    async fn issuer(&self, issuer: &str) -> Result<Issuer, String> {
        let url = Url::parse(issuer);
        let url =
            url.map_err(|error| format!("the address of its authorization server: {error}"))?;
        let mut places = well_known(&url, "oauth-authorization-server");
        places.extend(well_known(&url, "openid-configuration"));
        let path = url.path().trim_end_matches('/');
        places.extend(
            url.join(&format!("{path}/.well-known/openid-configuration"))
                .ok(),
        );
        for place in places {
            let Some(metadata) = self.get::<Issuer>(&place).await? else {
                continue;
            };
            if metadata.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
                return Err("the metadata of its authorization server name another one".to_owned());
            }
            let endpoints = [
                Some(&metadata.authorization_endpoint),
                Some(&metadata.token_endpoint),
                metadata.registration_endpoint.as_ref(),
            ];
            if !endpoints.into_iter().flatten().all(is_safe) {
                return Err("its authorization server is reached without TLS".to_owned());
            }
            let methods = &metadata.code_challenge_methods_supported;
            if !methods.iter().any(|method| method == "S256") {
                return Err("its authorization server does not support PKCE".to_owned());
            }
            return Ok(metadata);
        }
        Err("its authorization server has no metadata".to_owned())
    }

    async fn register(&self, endpoint: &Url, redirect: &str) -> Result<String, String> {
        let request = serde_json::json!({
            "client_name": "haft",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        });
        let request = self
            .client
            .post(endpoint.clone())
            .header("content-type", "application/json")
            .body(request.to_string());
        let registered: Registered = send(request)
            .await
            .map_err(|why| format!("haft cannot be registered: {why}"))?;
        Ok(registered.client_id)
    }

    /// Returns the JSON at an address; `None` if there is none.
    async fn get<T: DeserializeOwned>(&self, place: &Url) -> Result<Option<T>, String> {
        if !is_safe(place) {
            return Err(format!(
                "{} is reached without TLS",
                place.origin().ascii_serialization()
            ));
        }
        let request = self.client.get(place.clone()).timeout(REQUEST_TIMEOUT);
        let response = request.send().await.map_err(|error| plain(&error))?;
        if !response.status().is_success() {
            return Ok(None);
        }
        let bytes = bounded(response).await?;
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Some)
            .map_err(|error| format!("its metadata are invalid: {error}"))
    }
}

/// Returns the addresses of a well-known document for a URL with a path, the specific one first.
fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        format!("/.well-known/{name}{path}"),
        format!("/.well-known/{name}"),
    ];
    places.dedup();
    places
        .iter()
        .filter_map(|place| url.join(place).ok())
        .collect()
}

/// Returns true if `resource`, the identifier in the metadata at `place`, is that of the server at
/// `url`. The two must be equal (RFC 9728, section 3.3): the parser of addresses has normalized case,
/// default port and empty path, and nothing else is left out. Only the metadata at the root of the
/// server's origin may be those of the whole origin, which is the identifier that belongs there.
fn describes(resource: &str, url: &Url, place: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let mut server = url.clone();
    server.set_fragment(None);
    let is_root = url
        .join(&format!("/.well-known/{RESOURCE_METADATA}"))
        .ok()
        .as_ref()
        == Some(place);
    let origin = url.join("/").ok().filter(|_| is_root);
    resource == server || Some(resource) == origin
}

/// Returns true for an address with TLS, and for one on this machine.
fn is_safe(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

/// Returns a parameter of a challenge.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let start = challenge.find(&format!("{name}=\""))? + name.len() + 2;
    let rest = challenge.get(start..)?;
    Some(rest.get(..rest.find('"')?)?.to_owned())
}

fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Asks a token endpoint.
async fn exchange(
    client: &Client,
    endpoint: &Url,
    form: &[(&str, &str)],
) -> Result<Granted, String> {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let request = client
        .post(endpoint.clone())
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .body(body);
    send(request).await
}

async fn send<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, String> {
    let response = request.timeout(REQUEST_TIMEOUT).send().await;
    let response = response.map_err(|error| plain(&error))?;
    let status = response.status();
    let bytes = bounded(response).await?;
    if !status.is_success() {
        #[derive(Deserialize)]
        struct Refused {
            error: String,
            error_description: Option<String>,
        }
        let refused = serde_json::from_slice::<Refused>(&bytes);
        return Err(match refused {
            Ok(refused) => {
                let why = refused.error_description.unwrap_or(refused.error);
                one_line(&why, 300)
            }
            Err(_) => format!("HTTP status {status}"),
        });
    }
    // The error of the parser could contain a token.
    serde_json::from_slice(&bytes).map_err(|_| "the answer is not what OAuth demands".to_owned())
}

async fn bounded(mut response: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| plain(&error))? {
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err("the answer is too long".to_owned());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Waits for the browser, which the authorization server sends to our port.
async fn answer(listener: &TcpListener, state: &str) -> Result<BTreeMap<String, String>, String> {
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let read = timeout(Duration::from_secs(10), request(stream)).await;
        // Other programs of this machine may connect, too.
        let Ok(Ok((query, stream))) = read else {
            continue;
        };
        let is_ours = query.get("state").is_some_and(|given| given == state);
        let refused = query.get("error").map(|error| {
            let why = query.get("error_description").unwrap_or(error);
            format!("the login was refused: {}", one_line(why, 300))
        });
        let text = match (is_ours, &refused) {
            (true, None) => "haft is logged in. You can close this page.",
            (true, Some(_)) => "The login was refused. You can close this page.",
            (false, _) => "This answer does not belong to the login.",
        };
        respond(stream, text).await;
        match refused {
            Some(refused) if is_ours => return Err(refused),
            None if is_ours => return Ok(query),
            _ => return Err("the answer does not belong to this login".to_owned()),
        }
    }
}

/// Reads a request for `/callback`, and returns its parameters.
async fn request(mut stream: TcpStream) -> io::Result<(BTreeMap<String, String>, TcpStream)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut buffer = [0; 2048];
        let read = stream.read(&mut buffer).await?;
        if read == 0 || head.len() > 16 << 10 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&buffer[..read]);
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != "/callback" {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let query = url::form_urlencoded::parse(query.as_bytes());
    Ok((query.into_owned().collect(), stream))
}

async fn respond(mut stream: TcpStream, text: &str) {
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{text}",
        text.len()
    );
    // The browser may be gone.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("it is valid")
    }

    #[test]
    fn well_known_addresses_begin_with_the_specific_one() {
        let places = well_known(
            &url("https://x.example/a/mcp?q=1"),
            "oauth-protected-resource",
        );
        let places: Vec<&str> = places.iter().map(Url::as_str).collect();
        assert_eq!(
            places,
            [
                "https://x.example/.well-known/oauth-protected-resource/a/mcp",
                "https://x.example/.well-known/oauth-protected-resource",
            ]
        );
        let places = well_known(&url("https://x.example/"), "openid-configuration");
        assert_eq!(places.len(), 1);
    }

    #[test]
    fn metadata_describe_exactly_the_server() {
        let server = url("https://x.example/a/mcp?q=1");
        let [own, root] = &well_known(&server, RESOURCE_METADATA)[..] else {
            panic!("two places");
        };
        let equal = [
            "https://x.example/a/mcp?q=1",
            "HTTPS://X.Example:443/a/mcp?q=1",
        ];
        for resource in equal {
            assert!(describes(resource, &server, own), "{resource}");
            assert!(describes(resource, &server, root), "{resource}");
        }
        let others = [
            "https://x.example/a/mc",
            "https://x.example/a/mcp",
            "https://x.example/a/mcp/?q=1",
            "https://x.example/a/mcp?q=1#part",
            "https://x.example/a",
            "https://x.example/A/mcp?q=1",
            "https://x.example:8443/a/mcp?q=1",
            "http://x.example/a/mcp?q=1",
            "https://y.example/a/mcp?q=1",
            "https://user@x.example/a/mcp?q=1",
            "a/mcp?q=1",
        ];
        for resource in others {
            assert!(!describes(resource, &server, own), "{resource}");
            assert!(!describes(resource, &server, root), "{resource}");
        }
        // The metadata at the root are those of the origin.
        assert!(describes("https://x.example", &server, root));
        assert!(!describes("https://x.example", &server, own));
        let elsewhere = url("https://x.example/metadata");
        assert!(!describes("https://x.example", &server, &elsewhere));
    }

    #[test]
    fn tokens_travel_with_tls_or_stay_here() {
        assert!(is_safe(&url("https://x.example/")));
        assert!(is_safe(&url("http://127.0.0.1:1/")));
        assert!(is_safe(&url("http://localhost/")));
        assert!(is_safe(&url("http://[::1]/")));
        assert!(!is_safe(&url("http://192.0.2.1/")));
        assert!(!is_safe(&url("http://localhost.x.example/")));
    }

    #[test]
    fn parameters_of_a_challenge_are_read() {
        let challenge =
            "Bearer error=\"invalid_token\", resource_metadata=\"https://x/m\", scope=\"a b\"";
        assert_eq!(
            parameter(challenge, "resource_metadata").as_deref(),
            Some("https://x/m")
        );
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter(challenge, "realm"), None);
    }
}
