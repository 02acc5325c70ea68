//! Refreshes the tools, and reports the state of the search.
//!
//! Calls and lists never wait for a refresh. They use the old catalog until the new one is complete
//! and replaces it.

use std::sync::Arc;

use tokio::sync::watch;

use super::load_state::LoadState;
use super::load_state::Why;
use super::{Host, LoadedSoFar};
use crate::registry::{Catalog, Entry};
use haft_discover::Places;
use haft_engine::Engine;
use haft_tool::{CatalogChange, Family, ScanState};
use haft_tool::{Error, ErrorKind};

/// Result of a search for tools.
pub(super) struct Found {
    pub(super) catalog: Catalog,
    pub(super) known: LoadState,
    /// Version of the program's own tools in the catalog.
    pub(super) own_version: u64,
    /// Generation into which new modules are loaded from now on.
    pub(super) base: Engine,
    /// Files and folders that determine which tools exist.
    pub(super) places: Places,
    /// False if the search itself failed.
    pub(super) is_complete: bool,
}

/// Reports the state of a search. An unfinished search that is dropped restores the old state.
pub(super) struct Search<'a> {
    scan: &'a watch::Sender<ScanState>,
    ends_as: ScanState,
}

impl<'a> Search<'a> {
    pub(super) fn start(scan: &'a watch::Sender<ScanState>) -> Search<'a> {
        let ends_as = scan.send_replace(ScanState::InProgress);
        Search { scan, ends_as }
    }

    pub(super) fn end(mut self, found: &Found) {
        self.ends_as = if found.is_complete {
            ScanState::Complete
        } else {
            ScanState::Failed
        };
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        self.scan.send_replace(self.ends_as);
    }
}

impl Host {
    /// Searches for all tools again and replaces the whole catalog. New tools appear and missing
    /// ones disappear. Executables are asked again, and modules with a changed file are loaded
    /// again. Calls go on meanwhile, and running ones end with the tool that they began with.
    /// Unchanged modules stay as they are, unless something ties them to a changed one.
    pub async fn refresh(&self) -> Arc<Catalog> {
        self.read_rights_again().await;
        self.look_again(Why::Requested).await
    }

    pub(super) async fn look_again(&self, why: Why) -> Arc<Catalog> {
        let _one_at_a_time = self.inner.refreshing.lock().await;
        let loaded = self.inner.loaded.lock().await;
        if !loaded.is_scanned || self.inner.closing.is_cancelled() {
            drop(loaded);
            return self.catalog().await;
        }
        let (given, known) = (loaded.given.clone(), loaded.known.clone());
        drop(loaded);
        let search = Search::start(&self.inner.scan);
        let found = self.load_all(given, known, why).await;
        search.end(&found);
        let mut loaded = self.inner.loaded.lock().await;
        let before = self.take(&mut loaded, found);
        let of_ikigai = before
            .tools()
            .filter(|tool| tool.source.family == Family::Ikigai);
        let names = of_ikigai.map(|tool| tool.name.clone());
        loaded.removed_ikigai.extend(names);
        drop(loaded);
        self.catalog().await
    }

    /// Replaces the catalog with that of `found` and publishes the change. Returns the one before.
    fn take(&self, loaded: &mut LoadedSoFar, found: Found) -> Arc<Catalog> {
        loaded.take(found, &self.inner.base);
        let now = Catalog::clone(&loaded.catalog);
        self.swapped(loaded, now)
    }

    /// Returns the state of the search for tools. The receiver is notified of every change.
    pub fn scan_state(&self) -> watch::Receiver<ScanState> {
        self.inner.scan.subscribe()
    }

    /// Returns every change of what callers see, after the first search. The receiver holds the
    /// last change. A slow receiver misses earlier ones, which it detects by `generation`.
    pub fn changes(&self) -> watch::Receiver<Arc<CatalogChange>> {
        self.inner.changes.subscribe()
    }

    /// Returns a counter that changes with what is known of the MCP servers behind haft.
    #[cfg(feature = "cli")]
    pub(crate) fn upstream_changes(&self) -> watch::Receiver<u64> {
        self.inner.connections.mcp.changes()
    }

    /// Returns a counter that changes with the problems of the catalog, even if its tools do not
    /// change.
    pub(crate) fn problem_changes(&self) -> watch::Receiver<u64> {
        self.inner.problem_changes.subscribe()
    }

    /// Returns a counter that changes with the rights of the tools that stay in the catalog.
    pub(crate) fn rights_changes(&self) -> watch::Receiver<u64> {
        self.inner.rights_changes.subscribe()
    }

    /// Stores `now` as the catalog with the descriptions of the load, and publishes the change.
    /// Returns the one before.
    pub(super) fn swapped(&self, loaded: &mut LoadedSoFar, now: Catalog) -> Arc<Catalog> {
        let before = std::mem::replace(&mut loaded.loaded_catalog, Arc::new(now));
        if let Some(change) = CatalogChange::between(before.tools(), loaded.loaded_catalog.tools())
        {
            self.inner.changes.send_modify(|last| {
                let generation = last.generation + 1;
                *last = Arc::new(CatalogChange {
                    generation,
                    ..change
                });
            });
        }
        if before.problems != loaded.loaded_catalog.problems {
            self.inner
                .problem_changes
                .send_modify(|changes| *changes += 1);
        }
        let has_other_rights = |entry: &Arc<Entry>| {
            let was = before.find(&entry.tool.name);
            was.is_some_and(|was| was.rights() != entry.rights())
        };
        if loaded.loaded_catalog.entries.iter().any(has_other_rights) {
            self.inner
                .rights_changes
                .send_modify(|changes| *changes += 1);
        }
        before
    }

    /// Returns true if the tool is unknown now, but was an ikigai tool before a refresh. Its
    /// callers get an envelope instead of an error.
    pub(super) async fn has_departed(&self, name: &str, error: &Error) -> bool {
        error.kind() == ErrorKind::NoSuchTool
            && self.inner.loaded.lock().await.removed_ikigai.contains(name)
    }
}
