//! HTTP with server-sent events, the transport of MCP 2024-11-05: a stream of events for the
//! messages of the server, and an address to which the client posts its own.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::{Sse, SseStream};
use url::Url;

use crate::http_client::plain;
use crate::oauth::{LOGIN, Login};

/// Time in which a message of ours must be taken.
const POST_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of events in a row that are no messages, after which the stream is ended.
const MAX_GARBAGE_EVENTS: u32 = 1000;

type Events = BoxStream<'static, Result<Sse, String>>;

/// A stream of events, with the address for messages of ours.
pub(crate) struct SseTransport {
    client: Client,
    events: Option<Events>,
    post_to: Url,
    login: Option<Login>,
}

/// Opens the stream, and waits for the address.
pub(crate) async fn connect(
    client: Client,
    login: Option<Login>,
    url: Url,
) -> Result<SseTransport, String> {
    let get = async |token: Option<&String>| {
        let request = client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let request = with_token(request, token);
        request.send().await.map_err(|error| plain(&error))
    };
    let token = match &login {
        Some(login) => login.token().await?,
        None => None,
    };
    let mut response = get(token.as_ref()).await?;
    if let (401, Some(login), Some(refused)) = (response.status().as_u16(), &login, &token)
        && let Some(token) = login.refreshed(refused).await
    {
        response = get(Some(&token)).await?;
    }
    let status = response.status();
    if status.as_u16() == 401 {
        return Err(LOGIN.to_owned());
    }
    if !status.is_success() {
        return Err(format!("it answers with HTTP status {status}"));
    }
    let events = SseStream::from_bytes_stream(response.bytes_stream());
    let mut events: Events = events
        .map(|event| event.map_err(|error| error.to_string()))
        .boxed();
    loop {
        let event = events.next().await.ok_or("the stream of events ended")??;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let given = event.data.unwrap_or_default();
        let post_to = url.join(given.trim());
        let post_to = post_to.map_err(|error| format!("its address for messages: {error}"))?;
        // Otherwise the server could send our headers to any host.
        if post_to.origin() != url.origin() {
            return Err("its address for messages is on another host".to_owned());
        }
        return Ok(SseTransport {
            client,
            events: Some(events),
            post_to,
            login,
        });
    }
}

fn with_token(request: RequestBuilder, token: Option<&String>) -> RequestBuilder {
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "sse".into()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let request = self.client.post(self.post_to.clone());
        let login = self.login.clone();
        async move {
            let body = serde_json::to_vec(&item)?;
            let token = match &login {
                Some(login) => login.token().await.map_err(io::Error::other)?,
                None => None,
            };
            let request = with_token(request, token.as_ref());
            let request = request.header(CONTENT_TYPE, "application/json").body(body);
            let response = request.timeout(POST_TIMEOUT).send().await;
            let response = response.map_err(|error| io::Error::other(plain(&error)))?;
            let status = response.status();
            if status.is_success() {
                Ok(())
            } else {
                Err(io::Error::other(format!("HTTP status {status}")))
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let mut garbage = 0;
        while let Some(event) = self.events.as_mut()?.next().await {
            let event = event.ok()?;
            let is_message = event.event.as_deref().is_none_or(|kind| kind == "message");
            let data = event.data.unwrap_or_default();
            if !is_message || data.is_empty() {
                continue;
            }
            match serde_json::from_str(&data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "an event of an MCP server is no message"),
            }
            garbage += 1;
            if garbage >= MAX_GARBAGE_EVENTS {
                break;
            }
        }
        self.events = None;
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.events = None;
        Ok(())
    }
}
