//! Assigns modules to isolates and moves a module away from an isolate that computes.
//!
//! Modules with the same [`IsolateKey`] share one isolate, as all of them share one process in
//! oh-my-pi. Modules of different trust domains, or with different permissions, never do.
//!
//! Where one module keeps an isolate busy and a call of another waits, the other moves to a second
//! isolate of the same key. `EngineOptions::isolates` limits their number. A module moves for good,
//! as a whole, and only if that cannot be observed. It must never have been called, so that it has
//! no state, and must share nothing with others (see `independence`). All other modules wait.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use url::Url;

use super::isolate::Isolate;
use super::isolation::ModuleIndependence;
use super::module::RESOLVER;
use super::stuck_threads;
use super::{Engine, IsolateKey, LoadFailure, Module, lock};

/// The isolates of a generation and the modules in them.
#[derive(Default)]
pub(super) struct IsolatePool {
    /// The first isolate of each key.
    shared: HashMap<IsolateKey, Arc<Isolate>>,
    /// Further isolates, for modules that moved.
    more: Vec<Arc<Isolate>>,
    /// Modules that moved, with their isolates.
    moved: HashMap<u32, Arc<Isolate>>,
    /// Isolates of the modules that must be alone.
    own: HashMap<u32, Arc<Isolate>>,
}

/// Data for migrations: the known modules and the attempts so far.
#[derive(Default)]
pub(super) struct Migrations {
    known: Mutex<HashMap<u32, (Url, IsolateKey)>>,
    independence: Arc<Mutex<ModuleIndependence>>,
    /// The modules that are moving and those that never can.
    settled: Mutex<HashSet<u32>>,
}

impl IsolatePool {
    pub(super) fn isolates(&self) -> impl Iterator<Item = &Arc<Isolate>> {
        let shared = self.shared.values().chain(&self.more);
        shared.chain(self.own.values())
    }

    /// Returns the isolate of a module that moved. The module returns to the shared isolate if its
    /// own has ended.
    fn isolate_of_migrated(&mut self, module: u32, key: &IsolateKey) -> Option<Arc<Isolate>> {
        let home = self.moved.get(&module)?;
        if home.takes_work() {
            return Some(home.clone());
        }
        self.moved.remove(&module);
        if let Some(shared) = self.shared.get(key) {
            shared.readmit(module);
        }
        None
    }
}

impl Migrations {
    pub(super) fn know(&self, module: u32, url: &Url, key: &IsolateKey) {
        lock(&self.known).insert(module, (url.clone(), key.clone()));
    }
}

impl Engine {
    /// Returns the isolate for new work of a module; a fresh one if the last was lost or retired.
    pub(super) async fn isolate_for(
        &self,
        module: u32,
        key: &IsolateKey,
    ) -> Result<Arc<Isolate>, LoadFailure> {
        let mut homes = self.generation.homes.lock().await;
        if let Some(isolate) = self.isolate_in(&mut homes, module, key) {
            return Ok(isolate);
        }
        let is_alone = self.generation.loners.contain(module);
        let isolate = self.start_isolate(key, is_alone).await?;
        if is_alone {
            drop(homes.own.insert(module, isolate.clone()))
        } else {
            drop(homes.shared.insert(key.clone(), isolate.clone()))
        }
        Ok(isolate)
    }

    /// Returns the isolate for new work of a module, if it exists and its lock is free.
    pub(super) fn isolate_now(&self, module: u32, key: &IsolateKey) -> Option<Arc<Isolate>> {
        self.isolate_in(&mut *self.generation.homes.try_lock().ok()?, module, key)
    }

    fn isolate_in(
        &self,
        homes: &mut IsolatePool,
        module: u32,
        key: &IsolateKey,
    ) -> Option<Arc<Isolate>> {
        let takes_work = |isolate: &&Arc<Isolate>| isolate.takes_work();
        if self.generation.loners.contain(module) {
            return homes.own.get(&module).filter(takes_work).cloned();
        }
        let moved = homes.isolate_of_migrated(module, key);
        moved.or_else(|| homes.shared.get(key).filter(takes_work).cloned())
    }

    async fn start_isolate(
        &self,
        key: &IsolateKey,
        is_for_one: bool,
    ) -> Result<Arc<Isolate>, LoadFailure> {
        if let Some(why) = stuck_threads::refusal(key.domain) {
            return Err(LoadFailure::Engine(why));
        }
        let loners = (!is_for_one).then(|| self.generation.loners.clone());
        let spare = self.inner.spares.take(&self.inner.options, key).await;
        let actions = self.inner.pending.of_new_isolate();
        let isolate = Isolate::start(
            &self.inner.options.for_domain(key.domain),
            key,
            actions.clone(),
            loners,
            spare,
        )
        .await
        .map_err(LoadFailure::Engine)?;
        actions.belong_to(&isolate);
        if let Some(inspector) = &self.inner.inspector {
            inspector.add(&isolate.shared());
        }
        let mut isolates = self.isolates();
        isolates.retain(|isolate| !isolate.is_gone());
        isolates.push(isolate.shared());
        Ok(isolate)
    }

    /// Tries to move `module`, of which a request waits, away from the busy `isolate`.
    pub(super) fn migrate_if_blocked(&self, isolate: &Arc<Isolate>, module: &Module) {
        if self.inner.options.isolates < 2 || !isolate.could_lose(module.id) {
            return;
        }
        if !lock(&self.generation.moves.settled).insert(module.id) {
            return;
        }
        let (engine, busy, module) = (self.clone(), isolate.clone(), module.clone());
        tokio::spawn(async move {
            if engine.is_independent(&module).await && engine.migrate(&busy, &module).await {
                lock(&engine.generation.moves.settled).remove(&module.id);
            }
        });
    }

    /// Returns true if the module shares nothing with others of the same key. Modules with other
    /// keys never share an isolate with it.
    async fn is_independent(&self, module: &Module) -> bool {
        let mut known = lock(&self.generation.moves.known).clone();
        known.retain(|_, (_, key)| *key == module.key);
        let known = known.into_iter().map(|(id, (url, _))| (id, url)).collect();
        let module = module.id;
        let independence = self.generation.moves.independence.clone();
        let asked =
            tokio::task::spawn_blocking(move || lock(&independence).is_independent(module, &known));
        asked.await.unwrap_or(false)
    }

    /// Loads the module into another isolate, then removes it from `busy` if that is still
    /// possible. Returns false if another attempt is useless.
    async fn migrate(&self, busy: &Arc<Isolate>, module: &Module) -> bool {
        let Some(home) = self.idle_isolate(busy).await else {
            return true;
        };
        match module.load_into(&home).await {
            Some((Ok(_), _)) => {}
            // A module that can be loaded only once is tied to its first isolate: a port, a lock
            // file.
            Some((Err(_), _)) => return false,
            None => return true,
        }
        let mut homes = self.generation.homes.lock().await;
        if home.takes_work() && busy.evict(module.id).await {
            homes.moved.insert(module.id, home);
        } else {
            home.forget_module(module.id);
        }
        true
    }

    /// Returns an isolate of the pool that has nothing to do, other than `busy`.
    async fn idle_isolate(&self, busy: &Arc<Isolate>) -> Option<Arc<Isolate>> {
        let mut homes = self.generation.homes.lock().await;
        homes.more.retain(|isolate| isolate.takes_work());
        // The shared isolate is left out: modules that have not moved are there or will be loaded
        // there.
        let idle = homes.more.iter().find(|isolate| {
            isolate.key() == busy.key() && isolate.is_idle() && !Arc::ptr_eq(isolate, busy)
        });
        if let Some(idle) = idle {
            return Some(idle.clone());
        }
        if homes.more.len() + 1 >= self.inner.options.isolates as usize {
            return None;
        }
        let isolate = self.start_isolate(busy.key(), false).await.ok()?;
        homes.more.push(isolate.clone());
        Some(isolate)
    }
}

impl Module {
    /// Returns the isolate for new work; for the resolver that of the newest pending action.
    pub(super) async fn place(&self) -> Result<Arc<Isolate>, LoadFailure> {
        let home = if self.url.as_str() == RESOLVER {
            self.engine.inner.pending.newest_home()
        } else {
            None
        };
        match home {
            Some(home) => Ok(home),
            None => self.engine.isolate_for(self.id, &self.key).await,
        }
    }

    /// Returns the isolate for new work, if it exists and its lock is free.
    pub(super) fn place_now(&self) -> Option<Arc<Isolate>> {
        if self.url.as_str() == RESOLVER {
            self.engine.inner.pending.newest_home()
        } else {
            self.engine.isolate_now(self.id, &self.key)
        }
    }
}
