//! Answers the requests of MCP clients for one connection, under any supported protocol version.
//!
//! rmcp determines the version of a connection or of a request, and refuses requests that do not
//! belong to that version.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
#[allow(deprecated, reason = "see `log`")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, DiscoverResult, GetTaskParams, GetTaskResult,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::call;
use super::changes::{self, Listener};
use super::log::{self, Log};
use super::message::Sender;
use super::result::ResultForm;
use super::selection::Selection;
use super::suspended::SuspendedCalls;
use super::tasks::Tasks;
use super::tool_list::ToolList;
use crate::host::Host;
use crate::registry::{Catalog, Entry};
use crate::surface::http::Client;

/// Number of tools on one page of a list. Many clients never request the second page.
const PAGE: usize = 250;
/// Time for which a handshake waits for tools that are still loading, since the instructions name
/// the tools. Codex waits ten seconds for the whole handshake.
const INSTRUCTIONS_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit of the tool lists that are cached for clients that may not use all tools.
const MAX_OFFERS: usize = 64;
/// Time for which a client may cache a list, in milliseconds.
const FRESH_MS: u64 = 10_000;

/// Server of one connection. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub(super) struct Server {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
}

/// State of one connection.
#[derive(Default)]
struct Connection {
    /// True if the client is notified of changes of the list.
    is_told: AtomicBool,
    log: Log,
    /// Fires when the connection ends, if that is observable.
    ended: CancellationToken,
}

/// A catalog and its tool list.
type OfferOfCatalog = (Arc<Catalog>, Arc<ToolList>);

/// State that all connections of a process share.
struct Shared {
    host: Host,
    selection: Selection,
    /// The last catalog and its tool list.
    offered: Mutex<Option<OfferOfCatalog>>,
    /// Last catalogs and tool lists of clients that may not use all tools, by client id.
    offered_to: Mutex<HashMap<String, OfferOfCatalog>>,
    /// Returns true if the one client reads so slowly that updates should be skipped.
    is_behind: Box<dyn Fn() -> bool + Send + Sync>,
    closing: CancellationToken,
    /// True if a handshake has waited for the tools without success.
    has_waited: AtomicBool,
    suspended: SuspendedCalls,
    tasks: Tasks,
}

impl Server {
    pub(super) fn new(
        host: Host,
        selection: Selection,
        is_behind: impl Fn() -> bool + Send + Sync + 'static,
        closing: CancellationToken,
    ) -> Self {
        let shared = Shared {
            host,
            selection,
            offered: Mutex::default(),
            offered_to: Mutex::default(),
            is_behind: Box::new(is_behind),
            closing,
            has_waited: AtomicBool::new(false),
            suspended: SuspendedCalls::new(),
            tasks: Tasks::default(),
        };
        Server {
            shared: Arc::new(shared),
            connection: Arc::default(),
        }
    }

    /// Creates a server for another connection that shares the state of the process.
    pub(super) fn for_connection(&self) -> Server {
        Server {
            shared: self.shared.clone(),
            connection: Arc::default(),
        }
    }

    /// Fires when no more requests are read.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.shared.closing
    }

    /// Fires when the connection ends, if that is observable.
    pub(super) fn ended(&self) -> &CancellationToken {
        &self.connection.ended
    }

    pub(super) fn host(&self) -> &Host {
        &self.shared.host
    }

    pub(super) fn is_behind(&self) -> bool {
        (self.shared.is_behind)()
    }

    /// Returns the suspended calls.
    pub(super) fn suspended(&self) -> &SuspendedCalls {
        &self.shared.suspended
    }

    /// Returns the calls that continue as tasks.
    pub(super) fn tasks(&self) -> &Tasks {
        &self.shared.tasks
    }

    /// Returns the form of results for a client of MCP 2026-07 (`is_new`) or of an older version.
    pub(super) fn result_form(&self, is_new: bool) -> ResultForm {
        ResultForm {
            structured: self.host().config().mcp.structured,
            any_json: is_new,
        }
    }

    /// Returns the log settings of the client.
    pub(super) fn log(&self) -> &Log {
        &self.connection.log
    }

    /// Returns the tool list and the tool that a client calls by this name, if both are known
    /// without waiting.
    pub(super) fn known_offer(&self, name: &str) -> Option<(Arc<ToolList>, Arc<Entry>)> {
        let catalog = self.shared.host.known_catalog()?;
        let tool_list = self.offer_of(catalog.clone());
        let entry = catalog.find(&tool_list.find(name)?.name)?.clone();
        Some((tool_list, entry))
    }

    /// Returns the current tool list.
    pub(super) async fn tool_list(&self) -> Arc<ToolList> {
        self.offer_of(self.shared.host.catalog().await)
    }

    /// Returns the current tool list of this client. `None`: the client on standard input and
    /// output.
    pub(super) async fn offer_to(&self, client: Option<&Client>) -> Arc<ToolList> {
        self.offer_of_to(self.shared.host.catalog().await, client)
    }

    /// Returns the tool list for a call of the tool `name`. Does not wait for changed descriptions.
    pub(super) async fn offer_for_call(
        &self,
        name: &str,
        client: Option<&Client>,
    ) -> Arc<ToolList> {
        let catalog = self.shared.host.catalog_for_calls().await;
        match catalog.find(name) {
            Some(_) => self.offer_of_to(catalog, client),
            // Some tools appear and disappear.
            None => Box::pin(self.offer_to(client)).await,
        }
    }

    /// Waits for the tools that the instructions name, with a timeout and only once. A client waits
    /// for its first response, and gives up on a server that does not send it.
    pub(super) async fn wait_for_tools(&self) {
        let has_waited = &self.shared.has_waited;
        if has_waited.load(Ordering::Relaxed) || self.last_offer().is_some() {
            return;
        }
        let loading = self.shared.host.catalog_for_calls();
        match timeout(INSTRUCTIONS_TIMEOUT, loading).await {
            Ok(catalog) => drop(self.offer_of(catalog)),
            Err(_) => {
                has_waited.store(true, Ordering::Relaxed);
                tracing::warn!("the tools load slowly: clients get no instructions meanwhile");
            }
        }
    }

    /// Returns the configuration with instructions that name the current tools. For computed
    /// descriptions it uses the last known values.
    async fn config_with_instructions(&self, client: Option<&Client>) -> ServerConfig {
        self.wait_for_tools().await;
        let known = self.shared.host.known_catalog();
        let known = known.map(|catalog| self.offer_of_to(catalog, client));
        let may_know_all = client.is_none_or(Client::is_user);
        let tool_list = known.or_else(|| self.last_offer().filter(|_| may_know_all));
        let mut config = self.get_info();
        config.instructions = tool_list.and_then(|tool_list| tool_list.instructions.clone());
        config
    }

    fn offer_of(&self, catalog: Arc<Catalog>) -> Arc<ToolList> {
        let mut offered = self
            .shared
            .offered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*offered {
            Some((known, tool_list)) if Arc::ptr_eq(known, &catalog) => tool_list.clone(),
            _ => {
                let (selection, config) = (&self.shared.selection, self.host().config());
                let mut tool_list = ToolList::of(&catalog, selection, None, config);
                if let Some((_, earlier)) = &*offered {
                    tool_list.remember(earlier);
                }
                let tool_list = Arc::new(tool_list);
                *offered = Some((catalog, tool_list.clone()));
                tool_list
            }
        }
    }

    fn offer_of_to(&self, catalog: Arc<Catalog>, client: Option<&Client>) -> Arc<ToolList> {
        let Some(client) = client.filter(|client| !client.is_user()) else {
            return self.offer_of(catalog);
        };
        let mut all = self.shared.offered_to.lock();
        let all = all.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut());
        if let Some((known, tool_list)) = all.get(client.id())
            && Arc::ptr_eq(known, &catalog)
        {
            return tool_list.clone();
        }
        // Mostly lists of clients whose tokens do not exist any more. The others are built again.
        if all.len() >= MAX_OFFERS {
            all.clear();
        }
        let (selection, config) = (&self.shared.selection, self.host().config());
        let mut tool_list = ToolList::of(&catalog, selection, Some(client), config);
        if let Some((_, earlier)) = all.get(client.id()) {
            tool_list.remember(earlier);
        }
        let tool_list = Arc::new(tool_list);
        all.insert(client.id().to_owned(), (catalog, tool_list.clone()));
        tool_list
    }

    /// Returns the last tool list without waiting.
    fn last_offer(&self) -> Option<Arc<ToolList>> {
        let offered = self
            .shared
            .offered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        offered.as_ref().map(|(_, tool_list)| tool_list.clone())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        log::declare(&mut capabilities);
        let haft = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("haft, the tool host");
        ServerConfig::new(capabilities).with_server_info(haft)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        let sender = Sender::of(&context.extensions);
        let client = sender.as_ref().map(|sender| &*sender.client);
        answer.instructions = self.config_with_instructions(client).await.instructions;
        Ok(answer)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let sender = Sender::of(&context.extensions);
        let client = sender.as_ref().map(|sender| &*sender.client);
        let config = self.config_with_instructions(client).await;
        Ok(DiscoverResult::from_server_info(versions, config))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let after = cursor.as_deref().map(read_cursor).transpose()?;
        let sender = Sender::of(&context.extensions);
        let tool_list = self.offer_to(sender.as_ref().map(|sender| &*sender.client));
        let tool_list = tool_list.await;
        self.connection
            .log
            .tell_left_out(&tool_list, &context)
            .await;
        let is_new = call::is_new(&context);
        let (tools, next) = tool_list.page(after.as_deref(), PAGE);
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = next.map(|name| URL_SAFE_NO_PAD.encode(name));
        if is_new {
            list = list
                .with_ttl_ms(FRESH_MS)
                .with_cache_scope(CacheScope::Private);
        }
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::run(self, request, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let sender = Sender::of(&context.extensions);
        let task = self.tasks().get(sender.as_ref(), &request.task_id)?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let sender = Sender::of(&context.extensions);
        self.tasks()
            .answer(sender.as_ref(), &request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let sender = Sender::of(&context.extensions);
        self.tasks().cancel(sender.as_ref(), &request.task_id)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.connection.is_told.swap(true, Ordering::Relaxed) {
            let ended = self.ended().clone();
            let following = changes::follow(self.clone(), Told(context.peer));
            tokio::spawn(async move { ended.run_until_cancelled(following).await });
        }
    }

    // Only tools are supported. Without these methods rmcp would answer with empty lists, although
    // the capabilities are not declared.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    #[allow(deprecated, reason = "see `log`")]
    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.connection.log.set_least(request.level);
        Ok(())
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        tokio::select! {
            () = changes::follow(self.clone(), Subscribed(&context)) => {}
            () = context.cancelled() => {}
            () = self.closing().cancelled() => {}
        }
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool_list = self.last_offer()?;
        tool_list.find(name).map(|tool| tool.listed.clone())
    }
}

/// A client up to MCP 2025-11, which is notified through its connection.
struct Told(Peer<RoleServer>);

impl Listener for Told {
    async fn tell(&mut self) -> bool {
        self.0.notify_tool_list_changed().await.is_ok()
    }

    fn is_gone(&self) -> bool {
        self.0.is_transport_closed()
    }
}

/// A subscription of MCP 2026-07.
struct Subscribed<'a>(&'a SubscriptionContext);

impl Listener for Subscribed<'_> {
    async fn tell(&mut self) -> bool {
        let accepted = self.0.accepted().tools_list_changed == Some(true);
        // A subscription to other events is not notified, but stays open.
        !accepted || self.0.sink().notify_tool_list_changed().await.is_ok()
    }

    fn is_gone(&self) -> bool {
        // It is dropped when it ends.
        false
    }
}

/// Decodes a cursor to the name that the last page ended with. A cursor only contains a name, so it
/// survives a reload.
fn read_cursor(cursor: &str) -> Result<String, ErrorData> {
    let name = URL_SAFE_NO_PAD.decode(cursor).ok();
    let name = name.and_then(|bytes| String::from_utf8(bytes).ok());
    let name = name.filter(|name| !name.is_empty());
    name.ok_or_else(|| {
        ErrorData::invalid_params(format!("`{cursor}` is not a cursor of this server"), None)
    })
}
