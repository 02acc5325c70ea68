//! Modules that are loaded when somebody needs them: what all handles of one share.
//!
//! A module is announced with a description, which may have been remembered; then it is loaded at
//! its first call, or at the first session event if it listens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;
use url::Url;

use super::graph::Graph;
use super::isolate::Isolate;
use super::module::{MOST_ISOLATES, NO_ISOLATE};
use super::told::{self, Told};
use super::witness::Notes;
use super::{Ended, Engine, IsolateKey, LoadFailure, Module, lock};
use crate::tool::Tier;

/// A module that wants to hear of session events. Not a handle: those keep the engine alive.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) id: u32,
    pub(super) url: Url,
    pub(super) key: IsolateKey,
    pub(super) life: Arc<ModuleLife>,
}

/// What all handles of a module share.
#[derive(Default)]
pub(super) struct ModuleLife {
    /// What callers were told about it.
    pub(super) told: OnceLock<Told>,
    /// Held while it is loaded: its factory runs once in an isolate.
    pub(super) turn: Mutex<()>,
    pub(super) was_loaded: AtomicBool,
    /// Some of its tools want to hear of session events.
    pub(super) listens: AtomicBool,
    /// What it came from when it was imported last.
    origin: std::sync::Mutex<Option<Origin>>,
}

/// What an import read.
struct Origin {
    /// The files of code, with their hashes. Those that another module imported before are missing.
    imported: BTreeMap<PathBuf, String>,
    /// The other paths that were looked at.
    looked: BTreeSet<PathBuf>,
}

impl ModuleLife {
    /// Takes note of what an import read.
    pub(super) fn came_from(&self, notes: Option<&Notes>) {
        let origin = notes.map(|notes| Origin {
            imported: notes.imported.clone(),
            looked: notes.looked.clone(),
        });
        *lock(&self.origin) = origin;
    }
}

impl Engine {
    /// Loads a module, and gives what it asked of the world meanwhile if that is known.
    pub(super) async fn load_url(
        &self,
        url: Url,
        key: IsolateKey,
    ) -> (Result<(Module, String), LoadFailure>, Option<Notes>) {
        let module = self.module(url, key);
        for _ in 0..MOST_ISOLATES {
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

    /// A module of which is known what it says; it is not loaded yet.
    pub(super) fn remembered(&self, url: Url, key: IsolateKey, described: &str) -> Module {
        let module = self.module(url, key);
        self.announce(&module, described);
        module
    }

    fn module(&self, url: Url, key: IsolateKey) -> Module {
        let id = self.0.next_module.fetch_add(1, Ordering::Relaxed);
        // Whoever may move has to know with whom it shares files.
        self.1.moves.know(id, &url, &key);
        Module {
            engine: self.clone(),
            id,
            url,
            key,
            life: Arc::default(),
        }
    }

    /// Callers are about to be told what the module says.
    fn announce(&self, module: &Module, described: &str) {
        // Said once: whoever loads a module again compares.
        let _ = module.life.told.set(Told::new(described.to_owned()));
        if told::listens(described) {
            module.life.listens.store(true, Ordering::Release);
            lock(&self.1.listeners).push(Listener {
                id: module.id,
                url: module.url.clone(),
                key: module.key.clone(),
                life: module.life.clone(),
            });
        }
    }
}

impl Module {
    /// The module for calls with the rights of `tier`: itself, or an instance of its own in another
    /// isolate, which is loaded when it is first called. `described` is what the module says of itself.
    #[must_use]
    pub fn of_tier(&self, tier: Tier, described: &str) -> Module {
        let key = self.engine.isolate_key_of_tier(self.key.domain, tier);
        match key == self.key {
            true => self.clone(),
            false => self.engine.remembered(self.url.clone(), key, described),
        }
    }

    /// Whether [`Self::of_tier`] gives the module itself.
    pub fn is_of_tier(&self, tier: Tier) -> bool {
        self.engine.isolate_key_of_tier(self.key.domain, tier) == self.key
    }

    /// No tool is called in this instance, so that it need not hear of session events.
    pub fn is_never_called(&self) {
        self.life.listens.store(false, Ordering::Release);
        lock(&self.engine.1.listeners).retain(|listener| listener.id != self.id);
    }

    /// Whether callers were told of what `graph` says that lies on the disk; `None` if the module was
    /// not imported yet, so that nobody knows.
    pub fn is_of(&self, graph: &Graph) -> Option<bool> {
        let origin = lock(&self.life.origin);
        let imported = &origin.as_ref()?.imported;
        let is_same = |(path, digest): (&PathBuf, &String)| {
            imported.get(path).is_none_or(|read| read == digest)
        };
        let is_as_told = self.life.told.get().is_none_or(Told::is_true);
        Some(is_as_told && graph.files.iter().all(is_same))
    }

    /// Whether the module looked at that file while it was imported, other than by importing it.
    pub fn looked_at(&self, path: &Path) -> bool {
        let origin = lock(&self.life.origin);
        origin
            .as_ref()
            .is_some_and(|origin| origin.looked.contains(path))
    }

    /// Whether the module was loaded once.
    pub fn was_loaded(&self) -> bool {
        self.life.was_loaded.load(Ordering::Acquire)
    }

    /// Loads the module if it never was. What goes wrong is told to whoever calls it.
    pub async fn ready(&self) {
        if self.was_loaded() {
            return;
        }
        let module = self.clone();
        // Nobody's impatience leaves a module half loaded.
        let loading = tokio::spawn(async move { module.ready_isolate().await.map(drop) });
        let _ = loading.await;
    }

    /// The current isolate, if the module still has there what callers know as the tool `index`.
    pub(super) async fn isolate_with(&self, index: u32) -> Result<Arc<Isolate>, Ended> {
        let isolate = self.ready_isolate().await.map_err(Ended::Lost)?;
        self.if_unchanged(index, isolate)
    }

    /// `isolate`, if the module still has there what callers know as the tool `index`.
    pub(super) fn if_unchanged(
        &self,
        index: u32,
        isolate: Arc<Isolate>,
    ) -> Result<Arc<Isolate>, Ended> {
        match self.life.told.get().and_then(|told| told.is_other(index)) {
            Some(why) => Err(Ended::Changed(why)),
            None => Ok(isolate),
        }
    }

    /// What was remembered of the module is not true any more.
    pub(super) fn forget(&self) {
        if let Some(cache) = self.engine.0.cache.clone() {
            let name = self.key.name_of(&self.url);
            tokio::task::spawn_blocking(move || cache.forget(&name));
        }
    }
}
