//! Assigns modules to isolates.
//!
//! Modules with the same [`IsolateKey`] share one isolate, as all of them share one process in
//! oh-my-pi. Modules of different trust domains, or with different permissions, never do.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::isolate::Isolate;
use super::module::RESOLVER;
use super::{Engine, IsolateKey, LoadFailure, Module};

/// The isolates of a generation and the modules in them.
#[derive(Default)]
pub(super) struct IsolatePool {
    /// The isolate of each key.
    shared: HashMap<IsolateKey, Arc<Isolate>>,
    /// Isolates of the modules that must be alone.
    own: HashMap<u32, Arc<Isolate>>,
}

/// Number of no module: for a request that any isolate of a key can take.
pub(super) const NO_MODULE: u32 = 0;

impl IsolatePool {
    pub(super) fn isolates(&self) -> impl Iterator<Item = &Arc<Isolate>> {
        self.shared.values().chain(self.own.values())
    }
}

impl Engine {
    /// Returns the isolate for new work of a module; a fresh one if the last was lost or retired.
    /// It compiles `files`, which are loaded soon, ahead.
    pub(super) async fn isolate_for(
        &self,
        module: u32,
        key: &IsolateKey,
        files: Vec<PathBuf>,
    ) -> Result<Arc<Isolate>, LoadFailure> {
        let mut homes = self.generation.homes.lock().await;
        if let Some(isolate) = self.isolate_in(&homes, module, key) {
            isolate.connection().announce(files);
            return Ok(isolate);
        }
        let is_alone = self.generation.loners.contain(module);
        let isolate = self.start_isolate(key, is_alone, files).await?;
        if is_alone {
            drop(homes.own.insert(module, isolate.clone()))
        } else {
            drop(homes.shared.insert(key.clone(), isolate.clone()))
        }
        Ok(isolate)
    }

    /// Returns the isolate for new work of a module, if it exists and its lock is free.
    pub(super) fn isolate_now(&self, module: u32, key: &IsolateKey) -> Option<Arc<Isolate>> {
        self.isolate_in(&*self.generation.homes.try_lock().ok()?, module, key)
    }

    fn isolate_in(
        &self,
        homes: &IsolatePool,
        module: u32,
        key: &IsolateKey,
    ) -> Option<Arc<Isolate>> {
        let isolate = if self.generation.loners.contain(module) {
            homes.own.get(&module)
        } else {
            homes.shared.get(key)
        };
        isolate.filter(|isolate| isolate.takes_work()).cloned()
    }

    async fn start_isolate(
        &self,
        key: &IsolateKey,
        is_for_one: bool,
        files: Vec<PathBuf>,
    ) -> Result<Arc<Isolate>, LoadFailure> {
        let loners = (!is_for_one).then(|| self.generation.loners.clone());
        let runtime = self.inner.runtime().map_err(|error| {
            let text = format!("no thread for the connections of workers can be started: {error}");
            LoadFailure::Engine(text)
        })?;
        let spare = self
            .inner
            .spares
            .take(&self.inner.options, key, &runtime)
            .await;
        let actions = self.inner.pending.of_new_isolate();
        let isolate = Isolate::start(
            &self.inner.options.for_domain(key.domain),
            key,
            actions.clone(),
            loners,
            spare,
            runtime,
            files,
        )
        .await
        .map_err(LoadFailure::Engine)?;
        actions.belong_to(&isolate);
        if let Some(inspector) = &self.inner.inspector {
            inspector.add(isolate.connection());
        }
        let mut isolates = self.isolates();
        isolates.retain(|isolate| !isolate.state().is_gone());
        isolates.push(isolate.connection().clone());
        Ok(isolate)
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
            None => {
                let file = self.url.to_file_path().ok().into_iter().collect();
                self.engine.isolate_for(self.id, &self.key, file).await
            }
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
