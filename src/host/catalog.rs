//! Every tool there is, looked for when somebody first wants to know.

use std::sync::Arc;

use super::Host;
use super::plan::Why;
use super::search::Search;
use crate::registry::Catalog;

impl Host {
    /// All tools. The first use looks for them and loads them; later ones give the same catalog.
    /// After a shutdown it is what was known then.
    pub async fn catalog(&self) -> Arc<Catalog> {
        let mut loaded = self.0.loaded.lock().await;
        if self.0.closing.is_cancelled() {
            return loaded.catalog.clone();
        }
        if !loaded.is_scanned {
            let (given, known) = (loaded.given.clone(), loaded.known.clone());
            let search = Search::start(&self.0.scan);
            let found = self.load_all(given, known, Why::First).await;
            search.end(&found);
            loaded.take(found, &self.0.base);
            loaded.as_loaded = loaded.catalog.clone();
            loaded.is_scanned = true;
        } else {
            loaded.catalog = loaded.catalog.refreshed().await;
        }
        let catalog = loaded.catalog.clone();
        drop(loaded);
        if !self.0.engine.has_pending() {
            return catalog;
        }
        match self.resolver().await {
            Some(resolver) => Arc::new(catalog.with(resolver)),
            None => catalog,
        }
    }

    /// The catalog for calls, if it is known without waiting.
    pub(crate) fn known_catalog(&self) -> Option<Arc<Catalog>> {
        let loaded = self.0.loaded.try_lock().ok()?;
        loaded.is_scanned.then(|| loaded.catalog.clone())
    }

    /// The same without asking tools for descriptions that they compute: for calls.
    pub(crate) async fn catalog_for_calls(&self) -> Arc<Catalog> {
        let loaded = self.0.loaded.lock().await;
        if loaded.is_scanned {
            return loaded.catalog.clone();
        }
        drop(loaded);
        // In a box of its own: a call that finds the tools loaded has no use for so much room.
        Box::pin(self.catalog()).await
    }
}
