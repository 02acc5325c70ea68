//! State of the MCP server: the tool lists, and what calls and the connection share.
//!
//! `handler` answers the requests of clients with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::log::Log;
use super::result::ResultForm;
use super::suspended::SuspendedCalls;
use super::tasks::Tasks;
use super::tool_list::{self, ToolList};
use crate::host::{Host, ReachableTool};
use crate::registry::Catalog;
use crate::surface::http::Client;
use crate::surface::nats::Sharing;

/// Time for which a handshake waits for tools that are still loading, since the instructions name
/// the tools. Codex waits ten seconds for the whole handshake.
const INSTRUCTIONS_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit of the tool lists that are cached for clients that may not use all tools.
const MAX_OFFERS: usize = 64;

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
    log: Arc<Log>,
    /// Fires when the connection ends, if that is observable.
    ended: CancellationToken,
    /// The resources whose changes the client is told of, by their addresses.
    watched: Mutex<HashMap<String, DropGuard>>,
}

/// A catalog and its tool list.
type OfferOfCatalog = (Arc<Catalog>, Arc<ToolList>);

/// State that all connections of a process share.
struct Shared {
    /// Its scope is that of all clients.
    host: Host,
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
    /// The hosts that the server shares its calls with, if it does.
    sharing: Option<Arc<Sharing>>,
}

impl Server {
    pub(super) fn new(
        host: Host,
        is_behind: impl Fn() -> bool + Send + Sync + 'static,
        closing: CancellationToken,
        sharing: Option<Arc<Sharing>>,
    ) -> Self {
        let host_id = sharing.as_ref().map(|sharing| sharing.host_id().to_owned());
        let shared = Shared {
            host,
            offered: Mutex::default(),
            offered_to: Mutex::default(),
            is_behind: Box::new(is_behind),
            closing,
            has_waited: AtomicBool::new(false),
            suspended: SuspendedCalls::new(host_id),
            tasks: Tasks::default(),
            sharing,
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

    /// Returns a call id that is unique among the running calls of the one client on standard input
    /// and output.
    pub(super) fn next_call_id() -> String {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        format!("mcp-{}", CALLS.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns what the server shares with other hosts, if it does.
    pub(super) fn sharing(&self) -> Option<&Arc<Sharing>> {
        self.shared.sharing.as_ref()
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
            is_task: false,
        }
    }

    /// Returns the log settings of the client.
    pub(super) fn log(&self) -> &Arc<Log> {
        &self.connection.log
    }

    /// Starts to notify the client of changes of the list. Returns false if it is notified already.
    pub(super) fn begin_to_tell(&self) -> bool {
        !self.connection.is_told.swap(true, Ordering::Relaxed)
    }

    /// Returns the resources whose changes the client is told of, by their addresses. Dropping a guard
    /// ends that.
    pub(super) fn watched(&self) -> &Mutex<HashMap<String, DropGuard>> {
        &self.connection.watched
    }

    /// Returns the tool list and the tool that a client calls by this name, if both are known
    /// without waiting.
    pub(super) fn known_offer(&self, name: &str) -> Option<(Arc<ToolList>, ReachableTool)> {
        let catalog = self.shared.host.known_catalog()?;
        let tool_list = self.offer_of(catalog.clone());
        let entry = catalog.find(&tool_list.find(name)?.name)?;
        Some((tool_list, self.host().reach(entry)?))
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
            None if tool_list::is_code_tool(name) => self.offer_of_to(catalog, client),
            // Some tools appear and disappear.
            None => Box::pin(self.offer_to(client)).await,
        }
    }

    /// Returns true if the client may use everything that is there.
    pub(super) fn offers_all_to(&self, client: Option<&Client>) -> bool {
        self.host().scope().is_unlimited() && client.is_none_or(Client::is_user)
    }

    /// Returns the newest catalog that is known without waiting: that of the host, or the last one of
    /// which clients got the tools, while the host is busy with the next one.
    pub(super) fn newest_catalog(&self) -> Option<Arc<Catalog>> {
        self.host().known_catalog().or_else(|| {
            let offered = self.shared.offered.lock();
            offered.as_ref().map(|(catalog, _)| catalog.clone())
        })
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

    fn offer_of(&self, catalog: Arc<Catalog>) -> Arc<ToolList> {
        let mut offered = self.shared.offered.lock();
        match &*offered {
            Some((known, tool_list)) if Arc::ptr_eq(known, &catalog) => tool_list.clone(),
            _ => {
                let mut tool_list = ToolList::of(&catalog, self.host());
                if let Some((_, earlier)) = &*offered {
                    tool_list.remember(earlier);
                }
                let tool_list = Arc::new(tool_list);
                *offered = Some((catalog, tool_list.clone()));
                tool_list
            }
        }
    }

    /// Returns the tool list of `catalog` for this client.
    pub(super) fn offer_of_to(
        &self,
        catalog: Arc<Catalog>,
        client: Option<&Client>,
    ) -> Arc<ToolList> {
        let Some(client) = client.filter(|client| !client.is_user()) else {
            return self.offer_of(catalog);
        };
        let mut all = self.shared.offered_to.lock();
        if let Some((known, tool_list)) = all.get(client.id())
            && Arc::ptr_eq(known, &catalog)
        {
            return tool_list.clone();
        }
        // Mostly lists of clients whose tokens do not exist any more. The others are built again.
        if all.len() >= MAX_OFFERS {
            all.clear();
        }
        let mut tool_list = ToolList::of(&catalog, &self.host().within(client.scope()));
        if let Some((_, earlier)) = all.get(client.id()) {
            tool_list.remember(earlier);
        }
        let tool_list = Arc::new(tool_list);
        all.insert(client.id().to_owned(), (catalog, tool_list.clone()));
        tool_list
    }

    /// Returns the last tool list without waiting.
    pub(super) fn last_offer(&self) -> Option<Arc<ToolList>> {
        let offered = self.shared.offered.lock();
        offered.as_ref().map(|(_, tool_list)| tool_list.clone())
    }
}
