//! Modules that are loaded on demand.
//!
//! A module is advertised with a description, which may come from the cache. Then it is loaded at
//! its first call, or at the first session event if it listens.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use url::Url;

use super::advertised::{self, AdvertisedDescription};
use super::graph::Graph;
use super::load_trace::LoadTrace;
use super::module::{MAX_ISOLATES, ModuleState, NO_ISOLATE};
use super::{Engine, IsolateKey, LoadFailure, Module, lock};
use haft_tool::{Tier, ToolRights};

/// A module that listens for session events. It is not a handle, because handles keep the engine
/// alive.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) id: u32,
    pub(super) url: Url,
    pub(super) key: IsolateKey,
    pub(super) life: Arc<ModuleState>,
}

impl Engine {
    /// Loads a module. Returns its dependencies as well, if they are known.
    pub(super) async fn load_url(
        &self,
        url: Url,
        key: IsolateKey,
        rights: ToolRights,
    ) -> (Result<(Module, String), LoadFailure>, Option<LoadTrace>) {
        let module = self.module(url, key, rights);
        for _ in 0..MAX_ISOLATES {
            let isolate = match module.place().await {
                Ok(isolate) => isolate,
                Err(error) => return (Err(error), None),
            };
            let Some((described, notes)) = module.load_into(&isolate).await else {
                continue;
            };
            let loaded = described.map(|described| {
                self.announce(&module, &described);
                (module, described)
            });
            return (loaded, notes);
        }
        (Err(LoadFailure::Engine(NO_ISOLATE.into())), None)
    }

    /// Returns a module whose description is known from the cache; it is not loaded yet.
    pub(super) fn remembered(
        &self,
        url: Url,
        key: IsolateKey,
        rights: ToolRights,
        described: &str,
    ) -> Module {
        let module = self.module(url, key, rights);
        self.announce(&module, described);
        module
    }

    fn module(&self, url: Url, key: IsolateKey, rights: ToolRights) -> Module {
        let id = self.inner.next_module.fetch_add(1, Ordering::Relaxed);
        // Needed to find out later if the module shares files with others.
        self.generation.moves.know(id, &url, &key);
        Module {
            engine: self.clone(),
            id,
            url,
            key,
            life: Arc::new(ModuleState {
                rights,
                told: OnceLock::new(),
                turn: tokio::sync::Mutex::default(),
                was_loaded: AtomicBool::new(false),
                listens: AtomicBool::new(false),
                origin: std::sync::Mutex::default(),
            }),
        }
    }

    /// Stores the description that callers are about to receive.
    fn announce(&self, module: &Module, described: &str) {
        // Only the first description is stored; later loads are compared with it.
        let _ = module
            .life
            .told
            .set(AdvertisedDescription::new(described.to_owned()));
        if advertised::listens(described) {
            module.life.listens.store(true, Ordering::Release);
            lock(&self.generation.listeners).push(Listener {
                id: module.id,
                url: module.url.clone(),
                key: module.key.clone(),
                life: module.life.clone(),
            });
        }
    }
}

impl Module {
    /// Returns the module for calls with the rights of `tier`: itself, or an instance of its own in
    /// another isolate. Such an instance is loaded at its first call. `described` is the module's
    /// description.
    #[must_use]
    pub fn of_tier(&self, tier: Tier, described: &str) -> Module {
        let key = self.key_of(tier);
        if key == self.key {
            self.clone()
        } else {
            let (url, rights) = (self.url.clone(), self.life.rights.clone());
            self.engine.remembered(url, key, rights, described)
        }
    }

    /// Returns true if [`Self::of_tier`] returns the module itself.
    pub fn is_of_tier(&self, tier: Tier) -> bool {
        self.key_of(tier) == self.key
    }

    /// Notes that the next call may run with the rights of `tier`, so that a worker process can be
    /// started for it already.
    pub fn expect_call(&self, tier: Tier) {
        let (inner, key) = (&self.engine.inner, self.key_of(tier));
        if self.engine.isolate_now(self.id, &key).is_none() {
            inner.spares.expect(&inner.options, &key);
        }
    }

    fn key_of(&self, tier: Tier) -> IsolateKey {
        let code = self.key.code.as_deref();
        IsolateKey::of_tier(self.key.domain, &self.life.rights, code, tier)
    }

    /// Removes the module from the listeners for session events, because no tool is called in this
    /// instance.
    pub fn is_never_called(&self) {
        self.life.listens.store(false, Ordering::Release);
        lock(&self.engine.generation.listeners).retain(|listener| listener.id != self.id);
    }

    /// Returns true if the advertised description belongs to the files in `graph`; `None` if the
    /// module was not imported yet, so that this is unknown.
    pub fn is_of(&self, graph: &Graph) -> Option<bool> {
        let origin = lock(&self.life.origin);
        let imported = &origin.as_ref()?.imported;
        let is_same = |(path, digest): (&PathBuf, &String)| {
            imported.get(path).is_none_or(|read| read == digest)
        };
        let is_as_told = self
            .life
            .told
            .get()
            .is_none_or(AdvertisedDescription::is_true);
        Some(is_as_told && graph.files.iter().all(is_same))
    }

    /// Returns true if the module accessed that file during its import, other than by importing it.
    pub fn looked_at(&self, path: &Path) -> bool {
        let origin = lock(&self.life.origin);
        origin
            .as_ref()
            .is_some_and(|origin| origin.looked.contains(path))
    }

    /// Returns true if the module was loaded before.
    pub fn was_loaded(&self) -> bool {
        self.life.was_loaded.load(Ordering::Acquire)
    }

    /// Loads the module if it was never loaded. An error is reported by the first call.
    pub async fn ready(&self) {
        if self.was_loaded() {
            return;
        }
        let module = self.clone();
        // The load goes on if the caller of this function is cancelled.
        let loading = tokio::spawn(async move { module.ready_isolate().await.map(drop) });
        let _ = loading.await;
    }

    /// Removes the module's description from the cache, because it no longer holds.
    pub(super) fn forget(&self) {
        if let Some(cache) = self.engine.inner.cache.clone() {
            let name = self.key.name_of(&self.url);
            tokio::task::spawn_blocking(move || cache.forget(&name));
        }
    }
}
