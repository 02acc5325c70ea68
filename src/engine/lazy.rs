//! Modules that are loaded when somebody needs them: what all handles of one share.
//!
//! A module is announced with a description, which may have been remembered; then it is loaded at
//! its first call, or at the first session event if it listens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;
use url::Url;

use super::isolate::Isolate;
use super::told::{self, Told};
use super::witness::Notes;
use super::{Ended, Engine, LoadFailure, MOST_ISOLATES, Module, NO_ISOLATE, lock};

/// A module that wants to hear of session events. Not a handle: those keep the engine alive.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) id: u32,
    pub(super) url: Url,
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
}

impl Engine {
    /// Loads a module, and gives what it asked of the world meanwhile if that is known.
    pub(super) async fn load_url(
        &self,
        url: Url,
    ) -> (Result<(Module, String), LoadFailure>, Option<Notes>) {
        let module = self.module(url);
        for _ in 0..MOST_ISOLATES {
            let isolate = match self.isolate_for(module.id).await {
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
    pub(super) fn remembered(&self, url: Url, described: &str) -> Module {
        let module = self.module(url);
        self.announce(&module, described);
        module
    }

    fn module(&self, url: Url) -> Module {
        let id = self.0.next_module.fetch_add(1, Ordering::Relaxed);
        // Whoever may move has to know with whom it shares files.
        self.0.moves.know(id, &url);
        Module {
            engine: self.clone(),
            id,
            url,
            life: Arc::default(),
        }
    }

    /// Callers are about to be told what the module says.
    fn announce(&self, module: &Module, described: &str) {
        // Said once: whoever loads a module again compares.
        let _ = module.life.told.set(Told::new(described.to_owned()));
        if told::listens(described) {
            lock(&self.0.listeners).push(Listener {
                id: module.id,
                url: module.url.clone(),
                life: module.life.clone(),
            });
        }
    }
}

impl Module {
    /// Loads the module if it never was. What goes wrong is told to whoever calls it.
    pub async fn ready(&self) {
        if self.life.was_loaded.load(Ordering::Acquire) {
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
        match self.life.told.get().and_then(|told| told.is_other(index)) {
            Some(why) => Err(Ended::Changed(why)),
            None => Ok(isolate),
        }
    }

    /// What was remembered of the module is not true any more.
    pub(super) fn forget(&self) {
        if let Some(cache) = self.engine.0.cache.clone() {
            let url = self.url.to_string();
            tokio::task::spawn_blocking(move || cache.forget(&url));
        }
    }
}
