//! One connection to a server, from its start to its end.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, MaybeDone, maybe_done};
use futures::poll;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ErrorData, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerNotification, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RunningService, ServiceError, Subscription,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::{DynamicTransportError, Transport};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::http_client::{self, TlsConfig};
use crate::oauth::{LOGIN, Login};
use crate::outgoing::Outgoing;
use crate::session::{Handler, LEGACY, ResourceUpdates, Session, Watched};
use crate::stdio::{LastWords, LineLog, Stdio};
use crate::text::one_line;
use crate::tokens::TokenStore;
use crate::{Definitions, Failure, ServerInfo};
use crate::{http, sse};
use haft_process::{Keep, Leftovers, Spawn, Stdin};

/// Limit of the entries of a list.
const MAX_ENTRIES: usize = crate::definitions::MAX_TOOLS;

/// Time after which lists without tools are left out.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of a request that belongs to no call.
pub(crate) const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// Limit of the pages of a list.
const MAX_PAGES: usize = 200;

/// Place of a server, with everything that is needed to reach it.
#[derive(Clone)]
pub enum Endpoint {
    /// A program, with its rights.
    Program(Box<Spawn>),
    /// A running server.
    Http(Box<HttpEndpoint>),
}

/// Address of a running server, with everything that is needed to reach it.
#[derive(Clone)]
pub struct HttpEndpoint {
    /// Its address.
    pub url: Url,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// True for the transport of MCP 2024-11-05.
    pub is_sse: bool,
    /// The settings of TLS.
    pub tls: TlsConfig,
    /// The file of the user's login.
    pub tokens: TokenStore,
}

impl Endpoint {
    /// Returns the values that may be secret: those of variables and headers. Short ones would hide
    /// ordinary words.
    fn secrets(&self) -> Vec<String> {
        let values: Vec<String> = match self {
            Endpoint::Program(spawn) => {
                let set = spawn.env.set_values();
                set.map(|value| value.to_string_lossy().into_owned())
                    .collect()
            }
            Endpoint::Http(http) => {
                let values = http.headers.iter().map(|(_, value)| value.as_str());
                // A server may repeat the token alone.
                let values = values.flat_map(|value| value.split(' '));
                values.map(str::to_owned).collect()
            }
        };
        values
            .into_iter()
            .filter(|value| value.len() >= 6)
            .collect()
    }
}

/// A connection to a server that has started.
pub struct Connection {
    server: String,
    peer: Peer<RoleClient>,
    pub(crate) session: Arc<Session>,
    /// Ends the connection.
    stop: CancellationToken,
    /// Cancelled when the connection has ended.
    ended: CancellationToken,
    words: Arc<LastWords>,
    /// Current offer of the server.
    definitions: Mutex<Arc<Definitions>>,
    /// The input of a program.
    outgoing: Option<Outgoing>,
    /// The version of the protocol, if its requests need no session.
    stateless: Option<ProtocolVersion>,
    /// The metadata of a request of a caller that is not asked and hears of no progress.
    pub(crate) plain_meta: OnceLock<Box<RawValue>>,
}

/// Start of a connection.
pub(crate) struct Start<'a> {
    pub(crate) server: &'a str,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) timeout: Duration,
    /// True if the server is known to need `initialize`, so that it is not asked for the newer
    /// protocol.
    pub(crate) is_legacy: bool,
    pub(crate) log: Option<LineLog>,
    pub(crate) updates: ResourceUpdates,
    pub(crate) stop: CancellationToken,
}

impl Start<'_> {
    /// Starts the server, agrees on a protocol, and lists the tools.
    pub(crate) async fn run(self) -> Result<(Connection, ListsFollowed), Failure> {
        let words = Arc::new(LastWords::new(self.log.clone(), self.endpoint.secrets()));
        let deadline = Instant::now() + self.timeout;
        let started = timeout_at(deadline, self.connect(&words)).await;
        let connected = match started {
            Ok(Ok(connection)) => {
                // Sent before the lists are read, so that no change is missed. A call, which bypasses
                // rmcp, would overtake it later.
                let mut changes = maybe_done(connection.list_changes());
                let _ = poll!(&mut changes);
                match timeout_at(deadline, connection.refresh()).await {
                    Ok(Ok(_)) => return Ok((connection, changes)),
                    Ok(Err(why)) => {
                        connection.stop.cancel();
                        Err(why)
                    }
                    Err(_) => {
                        connection.stop.cancel();
                        Err(self.late("list its tools"))
                    }
                }
            }
            Ok(Err(why)) => Err(why),
            Err(_) => Err(self.late("answer")),
        };
        connected.map_err(|why| {
            // The end of a program explains more than the broken connection.
            let (end, last) = words.take();
            let why = match end {
                Some(end) if why.starts_with(CLOSED) => format!("{end} before it answered"),
                _ if why == LOGIN => format!("{LOGIN}: `haft mcp login {}`", self.server),
                _ => why,
            };
            Failure::now(words.masked(&why), last)
        })
    }

    fn late(&self, what: &str) -> String {
        let limit = haft_config::format_duration(self.timeout);
        format!("it did not {what} within {limit}")
    }

    async fn connect(&self, words: &Arc<LastWords>) -> Result<Connection, String> {
        let session = Arc::new(Session::new(self.server, self.updates.clone()));
        let mut outgoing = None;
        let running = match self.endpoint {
            Endpoint::Program(spawn) => {
                let spawn = Spawn {
                    stdin: Stdin::Open,
                    // The lines are read as they arrive.
                    stdout: Keep::Head(0),
                    stderr: Keep::Head(0),
                    leftovers: Leftovers::Kill,
                    deadline: None,
                    ..(**spawn).clone()
                };
                let child = spawn.start(&CancellationToken::new()).await;
                let child = child.map_err(|error| format!("it cannot be started: {error}"))?;
                let transport = Stdio::new(child, session.clone(), words.clone());
                outgoing = Some(transport.outgoing().clone());
                self.serve(transport, session.clone()).await?
            }
            Endpoint::Http(http) => {
                let HttpEndpoint {
                    url,
                    headers,
                    is_sse,
                    tls,
                    tokens,
                } = &**http;
                let client = http_client::client(tls, headers)?;
                // The headers of the configuration are for the server, not for the authorization.
                let mut login = None;
                if tokens.exists() {
                    login = Some(Login::new(tokens.clone(), http_client::client(tls, &[])?));
                }
                if *is_sse {
                    let transport = sse::connect(client, login, url.clone()).await?;
                    self.serve(transport, session.clone()).await?
                } else {
                    let transport = http::transport(client, login, url);
                    self.serve(transport, session.clone()).await?
                }
            }
        };
        let peer = running.peer().clone();
        let (stop, ended) = (self.stop.clone(), CancellationToken::new());
        let has_ended = ended.clone();
        tokio::spawn(async move {
            let _ended = has_ended.drop_guard();
            // The connection ends with the server, or by `stop`.
            let _ = running.waiting().await;
        });
        let info = peer.peer_info();
        if let Some(info) = &info
            && !ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version)
        {
            self.stop.cancel();
            let version = visible(&info.protocol_version.to_string());
            return Err(format!(
                "it wants version {version} of MCP, which haft does not know"
            ));
        }
        let version = info.as_ref().map(|info| info.protocol_version.clone());
        Ok(Connection {
            server: self.server.to_owned(),
            peer,
            session,
            stop,
            ended,
            words: words.clone(),
            definitions: Mutex::default(),
            outgoing,
            stateless: version.filter(|version| !version.has_initialize()),
            plain_meta: OnceLock::new(),
        })
    }

    async fn serve<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        session: Arc<Session>,
    ) -> Result<RunningService<RoleClient, Handler>, String> {
        let is_legacy = self.is_legacy
            // The transport is that of an older protocol.
            || matches!(&self.endpoint, Endpoint::Http(http) if http.is_sse);
        let mode = if is_legacy {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(LEGACY),
            }
        };
        let handler = Handler::new(session.clone());
        let transport = Watched::new(transport, session);
        serve_client_with_lifecycle_and_ct(handler, transport, mode, self.stop.clone())
            .await
            .map_err(|error| explain(&error))
    }
}

/// Begin of the reason of a connection that has ended.
const CLOSED: &str = "the connection was closed";

fn explain(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return LOGIN.to_owned();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => CLOSED.to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => explain(fallback),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refuses the connection: {}", visible(&error.message))
        }
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ExpectedInitResponse(_) => {
            "its answer to `initialize` is not what MCP demands".to_owned()
        }
        other => visible(&other.to_string()),
    }
}

/// Returns the fault of a transport, without the URL, which may contain a secret.
fn of_transport(error: &DynamicTransportError) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error.error.as_ref());
    while let Some(error) = cause {
        let own = error.to_string();
        let own = own.split(" for url").next().unwrap_or_default();
        let own = own.strip_prefix("Client error: ").unwrap_or(own);
        if !text.contains(own) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(own);
        }
        cause = error.source();
    }
    visible(&text)
}

/// Returns a text of the server for one line.
fn visible(text: &str) -> String {
    one_line(text, 500)
}

impl Connection {
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// Returns the input of a program, which gets arguments as their caller wrote them.
    pub(crate) fn outgoing(&self) -> Option<&Outgoing> {
        self.outgoing.as_ref()
    }

    /// Returns the version of the protocol, if each request says for itself what it needs.
    pub(crate) fn stateless(&self) -> Option<&ProtocolVersion> {
        self.stateless.as_ref()
    }

    /// Returns true until the connection has ended.
    pub fn is_open(&self) -> bool {
        // The calls of a program end first.
        !self.ended.is_cancelled()
            && !self.peer.is_transport_closed()
            && !self.session.waiting.is_over()
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Ends the connection, and waits for the end.
    pub async fn close(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }

    /// Returns the reason of the end, with the last lines of the server.
    pub fn failure(&self) -> Failure {
        let (end, last) = self.words.take();
        Failure::now(end.unwrap_or_else(|| CLOSED.to_owned()), last)
    }

    /// Returns what the server offers, as of the start or the last change.
    pub fn definitions(&self) -> Arc<Definitions> {
        self.definitions.lock().clone()
    }

    /// Reads all lists of the server again, at the same time.
    ///
    /// # Errors
    /// A description of the fault, as a fragment for people.
    pub async fn refresh(&self) -> Result<Arc<Definitions>, String> {
        let info = self.peer.peer_info();
        let offered = info.as_ref().map(|info| info.capabilities.clone());
        let offered = offered.unwrap_or_default();
        let mut definitions = Definitions::default();
        definitions.has_prompts = offered.prompts.is_some();
        definitions.has_resources = offered.resources.is_some();
        definitions.has_completions = offered.completions.is_some();
        let resources = offered.resources.as_ref();
        definitions.has_subscriptions = resources.and_then(|it| it.subscribe) == Some(true);
        if let Some(info) = &info {
            definitions.protocol = info.protocol_version.to_string();
            definitions.server = info.server_info.as_ref().map(|server| ServerInfo {
                name: visible(&server.name),
                version: visible(&server.version),
            });
        }
        let has_tools = info.is_none() || offered.tools.is_some();
        let tools = self.pages_if(has_tools, "tools", |params| {
            ClientRequest::ListToolsRequest(ListToolsRequest {
                params,
                ..ListToolsRequest::default()
            })
        });
        let prompts = self.pages_if(definitions.has_prompts, "prompts", |params| {
            ClientRequest::ListPromptsRequest(ListPromptsRequest {
                params,
                ..ListPromptsRequest::default()
            })
        });
        let resources = self.pages_if(definitions.has_resources, "resources", |params| {
            ClientRequest::ListResourcesRequest(ListResourcesRequest {
                params,
                ..ListResourcesRequest::default()
            })
        });
        let templates = self.pages_if(definitions.has_resources, "resourceTemplates", |params| {
            ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                params,
                ..ListResourceTemplatesRequest::default()
            })
        });
        let (tools, prompts, resources, templates) = tokio::join!(
            tools,
            timeout(OTHERS_TIMEOUT, prompts),
            timeout(OTHERS_TIMEOUT, resources),
            timeout(OTHERS_TIMEOUT, templates),
        );
        for tool in tools? {
            definitions.add(tool);
        }
        // A list that cannot be read is empty: it costs no tool.
        let entries = |read: Result<Result<Vec<Value>, String>, Elapsed>| {
            read.ok().and_then(Result::ok).unwrap_or_default()
        };
        definitions.prompts = entries(prompts);
        definitions.resources = entries(resources);
        definitions.resource_templates = entries(templates);
        let definitions = Arc::new(definitions.complete());
        *self.definitions.lock() = definitions.clone();
        Ok(definitions)
    }

    /// Returns the entries of a list that the server has, else none.
    async fn pages_if(
        &self,
        has_list: bool,
        key: &str,
        request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
    ) -> Result<Vec<Value>, String> {
        if has_list {
            self.pages(key, request).await
        } else {
            Ok(Vec::new())
        }
    }

    /// Returns the entries of a list whose pages have them under `key`.
    async fn pages(
        &self,
        key: &str,
        request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
    ) -> Result<Vec<Value>, String> {
        let mut cursor: Option<String> = None;
        let mut entries = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor.clone_from(&cursor);
            let result = self.peer.send_request(request(Some(params)));
            let result = result.await.map_err(|error| self.fault(&error))?;
            // One bad entry makes the whole list something else for rmcp.
            let mut page = serde_json::to_value(&result).unwrap_or_default();
            let Some(Value::Array(more)) = page.get_mut(key).map(Value::take) else {
                return Err(format!("its list of {key} is not a list"));
            };
            entries.extend(more);
            let next = page.get("nextCursor").and_then(Value::as_str);
            let next = next.map(str::to_owned);
            // One entry more than the limit shows that there were too many.
            if next.is_none() || next == cursor || entries.len() > MAX_ENTRIES {
                break;
            }
            cursor = next;
        }
        entries.truncate(MAX_ENTRIES + 1);
        Ok(entries)
    }

    /// Sends a request that belongs to no call.
    ///
    /// # Errors
    /// With the server's own error, or one about the connection.
    pub async fn ask(&self, request: ClientRequest) -> Result<ServerResult, ErrorData> {
        let answer = timeout(ASK_TIMEOUT, self.peer.send_request(request)).await;
        self.answered(answer)
    }

    /// Returns the answer to a request, or an error for the client that is behind it.
    pub(crate) fn answered<T>(
        &self,
        answer: Result<Result<T, ServiceError>, Elapsed>,
    ) -> Result<T, ErrorData> {
        let answer = answer.map_err(|_| {
            let text = format!("the MCP server `{}` does not answer", self.server);
            ErrorData::internal_error(text, None)
        })?;
        answer.map_err(|error| match error {
            ServiceError::McpError(error) => error,
            error => {
                let text = format!("the MCP server `{}`: {}", self.server, self.fault(&error));
                ErrorData::internal_error(text, None)
            }
        })
    }

    /// Returns the fault of a request for people.
    pub(crate) fn fault(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => visible(&self.words.masked(&error.message)),
            ServiceError::TransportClosed => CLOSED.to_owned(),
            ServiceError::TransportSend(error) => of_transport(error),
            other => visible(&other.to_string()),
        }
    }

    /// Begins to follow the changes of the server's lists when it is polled. MCP 2026-07 requires a
    /// subscription.
    fn list_changes(&self) -> BoxFuture<'static, ListChanges> {
        let (session, peer) = (self.session.clone(), self.peer.clone());
        let info = self.peer.peer_info().filter(|_| self.stateless.is_some());
        let filter = info.map(|info| changes_of_lists(&info.capabilities));
        let filter = filter.filter(|filter| *filter != SubscriptionFilter::new());
        Box::pin(async move {
            let mut subscription = None;
            if let Some(filter) = filter {
                let listening = timeout(ASK_TIMEOUT, peer.listen(filter)).await;
                subscription = listening.ok().and_then(Result::ok);
            }
            ListChanges {
                session,
                subscription,
            }
        })
    }
}

/// Returns the changes of lists that a server reports.
fn changes_of_lists(offered: &ServerCapabilities) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::new();
    let tools = offered.tools.as_ref();
    filter.tools_list_changed = tools.and_then(|tools| tools.list_changed);
    let prompts = offered.prompts.as_ref();
    filter.prompts_list_changed = prompts.and_then(|prompts| prompts.list_changed);
    let resources = offered.resources.as_ref();
    filter.resources_list_changed = resources.and_then(|resources| resources.list_changed);
    filter
}

/// A subscription to the changes of lists, which may not be acknowledged yet.
pub(crate) type ListsFollowed = MaybeDone<BoxFuture<'static, ListChanges>>;

/// The changes of a server's lists.
pub(crate) struct ListChanges {
    session: Arc<Session>,
    subscription: Option<Subscription>,
}

impl ListChanges {
    /// Waits until a list has changed.
    pub(crate) async fn next(&mut self) {
        while let Some(subscription) = &mut self.subscription {
            match subscription.next().await {
                Ok(Some(
                    ServerNotification::ToolListChangedNotification(_)
                    | ServerNotification::PromptListChangedNotification(_)
                    | ServerNotification::ResourceListChangedNotification(_),
                )) => return,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => self.subscription = None,
            }
        }
        self.session.list_changed.notified().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
