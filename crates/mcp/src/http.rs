//! Streamable HTTP, of both protocol variants.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;
use url::Url;

use crate::oauth::Login;

/// Limit of one event in bytes.
const MAX_EVENT_BYTES: usize = 32 << 20;

/// Number of requests of one connection at the same time.
const MAX_REQUESTS: usize = 256;

/// Returns the transport to a server.
pub(crate) fn transport(
    client: Client,
    login: Option<Login>,
    url: &Url,
) -> StreamableHttpClientTransport<Authorized> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.max_sse_event_size = MAX_EVENT_BYTES;
    config = config.max_concurrent_requests(MAX_REQUESTS);
    StreamableHttpClientTransport::with_client(Authorized { client, login }, config)
}

/// Client that sends the token of the user's login. A token that the server refuses is refreshed
/// once.
#[derive(Clone)]
pub(crate) struct Authorized {
    client: Client,
    login: Option<Login>,
}

type Headers = HashMap<HeaderName, HeaderValue>;
type Failed = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, sse_stream::Error>>;

impl Authorized {
    async fn with_token<T, F>(&self, request: impl Fn(Option<String>) -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let Some(login) = &self.login else {
            return request(None).await.map_err(in_words);
        };
        let token = login.token().await;
        let token = token.map_err(|why| Failed::UnexpectedServerResponse(why.into()))?;
        let result = match (request(token.clone()).await, token) {
            (Err(StreamableHttpError::AuthRequired(why)), Some(refused)) => {
                match login.refreshed(&refused).await {
                    Some(token) => request(Some(token)).await,
                    None => Err(StreamableHttpError::AuthRequired(why)),
                }
            }
            (result, _) => result,
        };
        result.map_err(in_words)
    }
}

/// Returns the error with a text for people, where that of rmcp is the form of a Rust value or says
/// nothing of the reason.
fn in_words(error: Failed) -> Failed {
    let text = match error {
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            format!("the type of its answer is `{kind}`, which is not that of MCP")
        }
        StreamableHttpError::UnexpectedContentType(None) => "its answer has no type".to_owned(),
        StreamableHttpError::UnexpectedServerResponse(text) if text.starts_with("HTTP 30") => {
            format!(
                "{} to another address, which is not followed",
                text.trim_end_matches([':', ' '])
            )
        }
        other => return other,
    };
    StreamableHttpError::UnexpectedServerResponse(text.into())
}

impl StreamableHttpClient for Authorized {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            None,
            headers,
            MAX_EVENT_BYTES,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let post = |token: Option<String>| {
            self.client.post_message_with_max_sse_event_size(
                uri.clone(),
                message.clone(),
                session_id.clone(),
                token,
                headers.clone(),
                most,
            )
        };
        self.with_token(post).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        let delete = |token: Option<String>| {
            let (uri, session_id) = (uri.clone(), session_id.clone());
            self.client
                .delete_session(uri, session_id, token, headers.clone())
        };
        self.with_token(delete).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failed> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            None,
            headers,
            MAX_EVENT_BYTES,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, Failed> {
        let get = |token: Option<String>| {
            self.client.get_stream_with_max_sse_event_size(
                uri.clone(),
                session_id.clone(),
                last_event_id.clone(),
                token,
                headers.clone(),
                most,
            )
        };
        self.with_token(get).await
    }
}
