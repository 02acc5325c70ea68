//! The requests of MCP clients, answered for one connection in either era of the protocol.
//!
//! rmcp decides which era a connection or a request is of, and refuses what is not of it.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::call;
use super::offer::Offer;
use super::selection::Selection;
use crate::host::Host;
use crate::registry::Catalog;

/// Tools on one page of a list. Many clients never ask for the second one.
const PAGE: usize = 250;
/// How long a client may go by a list, in milliseconds.
const FRESH_MS: u64 = 10_000;

/// Answers one connection. Cheap to clone; clones share everything.
#[derive(Clone)]
pub(super) struct Server(Arc<Shared>);

/// What all connections of a process share.
struct Shared {
    host: Host,
    selection: Selection,
    /// The last catalog that was offered, and how.
    offered: Mutex<Option<(Arc<Catalog>, Arc<Offer>)>>,
    /// Whether the one client reads so slowly that updates should be left out.
    is_behind: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Server {
    pub(super) fn new(
        host: Host,
        selection: Selection,
        is_behind: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Server(Arc::new(Shared {
            host,
            selection,
            offered: Mutex::default(),
            is_behind: Box::new(is_behind),
        }))
    }

    pub(super) fn host(&self) -> &Host {
        &self.0.host
    }

    pub(super) fn is_behind(&self) -> bool {
        (self.0.is_behind)()
    }

    /// What is offered now.
    pub(super) async fn offer(&self) -> Arc<Offer> {
        let catalog = self.0.host.catalog().await;
        let mut offered = self
            .0
            .offered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*offered {
            Some((known, offer)) if Arc::ptr_eq(known, &catalog) => offer.clone(),
            _ => {
                let offer = Arc::new(Offer::of(&catalog, &self.0.selection));
                *offered = Some((catalog, offer.clone()));
                offer
            }
        }
    }

    /// What was offered last, without a wait.
    fn last_offer(&self) -> Option<Arc<Offer>> {
        let offered = self
            .0
            .offered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        offered.as_ref().map(|(_, offer)| offer.clone())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let haft = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("haft, the tool host");
        ServerConfig::new(capabilities).with_server_info(haft)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let after = cursor.as_deref().map(read_cursor).transpose()?;
        let offer = self.offer().await;
        let (tools, next) = offer.page(after.as_deref(), PAGE);
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = next.map(|name| URL_SAFE_NO_PAD.encode(name));
        if call::is_new(&context) {
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
        call::run(self, request, context).await.map(Into::into)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let offer = self.last_offer()?;
        offer.find(name).map(|tool| tool.listed.clone())
    }
}

/// The name that a page ended with. Names only: a cursor outlives any reload.
fn read_cursor(cursor: &str) -> Result<String, ErrorData> {
    let name = URL_SAFE_NO_PAD.decode(cursor).ok();
    let name = name.and_then(|bytes| String::from_utf8(bytes).ok());
    let name = name.filter(|name| !name.is_empty());
    name.ok_or_else(|| ErrorData::invalid_params(format!("`{cursor}` is no cursor of ours"), None))
}
