//! Looking for tools again: what is kept meanwhile, and how far a search is.
//!
//! The hard thing is that nobody waits: calls and lists go on with the old catalog, which is swapped
//! for the new one when that is whole.

use std::sync::Arc;

use tokio::sync::watch;

use super::known::Known;
use super::plan::Why;
use super::{Host, LoadedSoFar};
use crate::discover::Places;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::registry::Catalog;
use crate::tool::{CatalogChange, Family, ScanState};

/// What looking for tools came to.
pub(super) struct Found {
    pub(super) catalog: Catalog,
    pub(super) known: Known,
    /// Where modules that are new are loaded from now on.
    pub(super) base: Engine,
    /// What decides what there is.
    pub(super) places: Places,
    /// The host itself could look.
    pub(super) is_complete: bool,
}

/// Says how far a search is; one that is given up half-way leaves things as they were.
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
        self.ends_as = match found.is_complete {
            true => ScanState::Complete,
            false => ScanState::Failed,
        };
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        self.scan.send_replace(self.ends_as);
    }
}

impl Host {
    /// Looks for all tools again and swaps the catalog whole: new ones appear, those that are gone
    /// disappear, executables are asked anew, modules of which any file changed are loaded afresh. Calls
    /// go on meanwhile, and those that run end with the tool that they began with. Modules that did
    /// not change stay as they are, unless something ties them to one that did.
    pub async fn refresh(&self) -> Arc<Catalog> {
        self.look_again(Why::Asked).await
    }

    pub(super) async fn look_again(&self, why: Why) -> Arc<Catalog> {
        let _one_at_a_time = self.0.refreshing.lock().await;
        let loaded = self.0.loaded.lock().await;
        if !loaded.is_scanned || self.0.closing.is_cancelled() {
            drop(loaded);
            return self.catalog().await;
        }
        let (given, known) = (loaded.given.clone(), loaded.known.clone());
        drop(loaded);
        let search = Search::start(&self.0.scan);
        let found = self.load_all(given, known, why).await;
        search.end(&found);
        let mut loaded = self.0.loaded.lock().await;
        let before = self.take(&mut loaded, found);
        let of_ikigai = before
            .tools()
            .filter(|tool| tool.source.family == Family::Ikigai);
        let names = of_ikigai.map(|tool| tool.name.clone());
        loaded.departed.extend(names);
        drop(loaded);
        self.catalog().await
    }

    /// Swaps what was found in, and tells what is different; gives the catalog before.
    fn take(&self, loaded: &mut LoadedSoFar, found: Found) -> Arc<Catalog> {
        loaded.take(found, &self.0.base);
        let now = Catalog::clone(&loaded.catalog);
        self.swapped(loaded, now)
    }

    /// How far the search for tools is; the receiver hears of every change.
    pub fn scan_state(&self) -> watch::Receiver<ScanState> {
        self.0.scan.subscribe()
    }

    /// Every change of what callers see, after the tools were looked for the first time. The receiver
    /// holds the last one; who is slow misses those before it, which `generation` tells.
    pub fn changes(&self) -> watch::Receiver<Arc<CatalogChange>> {
        self.0.changes.subscribe()
    }

    /// Tells that the problems of the catalog are others, whether its tools are or not.
    pub(crate) fn problem_changes(&self) -> watch::Receiver<u64> {
        self.0.problem_changes.subscribe()
    }

    /// Takes the catalog that was swapped in, as it was loaded, and tells what is different; gives
    /// the one before.
    pub(super) fn swapped(&self, loaded: &mut LoadedSoFar, now: Catalog) -> Arc<Catalog> {
        let before = std::mem::replace(&mut loaded.as_loaded, Arc::new(now));
        if let Some(change) = CatalogChange::between(before.tools(), loaded.as_loaded.tools()) {
            self.0.changes.send_modify(|last| {
                let generation = last.generation + 1;
                *last = Arc::new(CatalogChange {
                    generation,
                    ..change
                });
            });
        }
        if before.problems != loaded.as_loaded.problems {
            self.0.problem_changes.send_modify(|changes| *changes += 1);
        }
        before
    }

    /// Whether the tool was there before a refresh, and is one of those whose callers were promised
    /// an envelope.
    pub(super) async fn has_departed(&self, name: &str, error: &Error) -> bool {
        error.kind() == ErrorKind::NoSuchTool && self.0.loaded.lock().await.departed.contains(name)
    }
}
