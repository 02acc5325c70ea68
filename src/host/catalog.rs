//! Catalog of all tools, which the first use finds and loads, and the tool that resolves pending
//! actions.

use std::sync::Arc;

use super::Host;
use super::load_state::Why;
use super::refresh::Search;
use crate::family::js::{self, RESOLVE};
use crate::registry::{Catalog, Entry};

impl Host {
    /// Returns all tools. The first call finds and loads them. Later calls only compute
    /// descriptions anew. After a shutdown it returns the last known tools.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.wait_for_program_tools().await;
        let mut loaded = self.inner.loaded.lock().await;
        if self.inner.closing.is_cancelled() {
            return loaded.catalog.clone();
        }
        if !loaded.is_scanned {
            let (given, known) = (loaded.given.clone(), loaded.known.clone());
            let search = Search::start(&self.inner.scan);
            let found = self.load_all(given, known, Why::First).await;
            search.end(&found);
            loaded.take(found, &self.inner.base);
            loaded.loaded_catalog = loaded.catalog.clone();
            loaded.is_scanned = true;
        } else {
            loaded.catalog = loaded.catalog.refreshed().await;
        }
        let catalog = loaded.catalog.clone();
        drop(loaded);
        if !self.inner.engine.has_pending() {
            return catalog;
        }
        match self.resolver().await {
            Some(resolver) => Arc::new(catalog.with(resolver)),
            None => catalog,
        }
    }

    /// Returns the catalog for calls, if it is known without waiting.
    pub(crate) fn known_catalog(&self) -> Option<Arc<Catalog>> {
        let loaded = self.inner.loaded.try_lock().ok()?;
        loaded.is_scanned.then(|| loaded.catalog.clone())
    }

    /// Returns the catalog for calls. It does not ask tools for descriptions that they compute.
    pub(crate) async fn catalog_for_calls(&self) -> Arc<Catalog> {
        let loaded = self.inner.loaded.lock().await;
        if loaded.is_scanned {
            return loaded.catalog.clone();
        }
        drop(loaded);
        // Boxed, because a call that finds the tools loaded does not need the room of this future.
        Box::pin(self.catalog()).await
    }

    /// Returns the description of the newest action that waits to be applied or discarded with the
    /// tool `resolve`.
    pub fn newest_pending(&self) -> Option<String> {
        self.inner.engine.newest_pending()
    }

    /// Disables pending actions if a tool has the name of the one that resolves them, and adds a
    /// problem. The other tool keeps the name, because it was first.
    pub(super) fn without_rival(&self, mut catalog: Catalog) -> Catalog {
        if let Some(rival) = catalog.find(RESOLVE) {
            self.inner.engine.disable_pending_actions();
            let problem = js::rival(&rival.tool);
            if !catalog
                .problems
                .iter()
                .any(|known| known.message == problem.message)
            {
                catalog.problems.push(problem);
            }
        }
        catalog
    }

    /// Returns the tool that resolves pending actions.
    pub(super) async fn resolver(&self) -> Option<Arc<Entry>> {
        let engine = &self.inner.engine;
        let made = self.inner.resolver.get_or_try_init(async || {
            let (tool, runner) = js::resolver(engine).await.ok_or(())?;
            let resolved_path = tool.source.path.clone();
            Ok::<_, ()>(Arc::new(Entry {
                tool: Arc::new(tool),
                resolved_path,
                runner,
            }))
        });
        made.await.ok().cloned()
    }
}
