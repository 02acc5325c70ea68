//! Handle of a module: its current isolate, and how it is loaded into one.
//!
//! A module is advertised with a description, which may come from the cache. Then it is loaded at
//! its first call, or at the first session event if it listens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use url::Url;

use super::advertised::{self, AdvertisedDescription};
use super::graph::Graph;
use super::isolate::Isolate;
use super::load_inputs::LoadTrace;
use super::messages::{Answer, Ask, Lost};
use super::{Engine, IsolateKey, lock};
use haft_tool::{Tier, ToolRights};

/// Handle of a module. The module is imported on demand: at its first call if its description came
/// from the cache, and again when its isolate was lost.
#[derive(Clone)]
pub struct Module {
    pub(super) engine: Engine,
    pub(super) id: u32,
    pub(super) url: Url,
    pub(super) key: IsolateKey,
    pub(super) life: Arc<ModuleState>,
}

/// State that all handles of a module share.
pub(super) struct ModuleState {
    /// The rights of its calls that have been approved; those of the key may be narrower.
    pub(super) rights: ToolRights,
    /// The description that was advertised to callers.
    pub(super) told: OnceLock<AdvertisedDescription>,
    /// Held while the module is loaded, because its factory runs once in an isolate.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) was_loaded: AtomicBool,
    /// Set if some of its tools listen for session events.
    pub(super) listens: AtomicBool,
    /// Files that its last import read.
    pub(super) origin: Mutex<Option<Origin>>,
}

/// Files that an import read.
pub(super) struct Origin {
    /// The files of code, with their hashes. Files that another module imported before are missing.
    pub(super) imported: BTreeMap<PathBuf, String>,
    /// The other paths that the module accessed.
    pub(super) looked: BTreeSet<PathBuf>,
}

impl ModuleState {
    /// Stores which files an import read.
    pub(super) fn came_from(&self, notes: Option<&LoadTrace>) {
        let origin = notes.map(|notes| Origin {
            imported: notes.imported.clone(),
            looked: notes.looked.clone(),
        });
        *lock(&self.origin) = origin;
    }
}

/// Reason for which a module could not be loaded: the JSON text `{error, stack?}` or our own
/// sentence.
#[derive(Debug)]
pub enum LoadFailure {
    /// The module failed; JSON with its error and stack.
    Module(String),
    /// The load did not end in time, or its isolate was lost.
    Engine(String),
}

impl LoadFailure {
    /// Returns the error as a text.
    pub fn text(&self) -> String {
        match self {
            LoadFailure::Module(json) => serde_json::from_str::<serde_json::Value>(json)
                .ok()
                .and_then(|value| value["error"].as_str().map(str::to_owned))
                .unwrap_or_else(|| json.clone()),
            LoadFailure::Engine(text) => text.clone(),
        }
    }
}

impl Module {
    /// Returns the current description of the tool at `index`; `None` if it is not available.
    pub async fn description(&self, index: u32) -> Option<String> {
        let isolate = self.ready_isolate().await.ok()?;
        let asked = isolate.ask(
            |id| Ask::Describe {
                id,
                module: self.id,
                tool: index,
            },
            None,
        );
        let limit = self.engine.inner.options.load_timeout(self.key.domain);
        match tokio::time::timeout(limit, asked).await {
            Ok(Ok(Answer::Done(text))) => Some(text),
            Ok(_) => None,
            Err(_) => {
                isolate.terminate("the description of a tool did not end");
                None
            }
        }
    }

    /// Returns the current isolate with this module loaded in it.
    pub(super) async fn ready_isolate(&self) -> Result<Arc<Isolate>, Lost> {
        for _ in 0..MAX_ISOLATES {
            let isolate = self.place().await;
            let isolate = isolate.map_err(|error| Lost(error.text()))?;
            if isolate.has_module(self.id) {
                return Ok(isolate);
            }
            let _turn = self.life.turn.lock().await;
            if isolate.has_module(self.id) {
                return Ok(isolate);
            }
            match self.load_into(&isolate).await {
                None => {}
                Some((Ok(described), _)) => {
                    let told = self.life.told.get();
                    if told.is_some_and(|told| !told.compare(&described)) {
                        self.forget();
                    }
                    return Ok(isolate);
                }
                Some((Err(error), _)) => {
                    self.forget();
                    return Err(Lost(format!(
                        "the module could not be loaded again: {}",
                        error.text()
                    )));
                }
            }
        }
        Err(Lost(NO_ISOLATE.into()))
    }

    /// Loads the module; `None` if the isolate ended before it saw the request.
    pub(super) async fn load_into(
        &self,
        isolate: &Arc<Isolate>,
    ) -> Option<(Result<String, LoadFailure>, Option<LoadTrace>)> {
        if let Some(target) = isolate.target() {
            target.runs(&self.url);
        }
        let mut asked = isolate.ask(
            |id| Ask::Load {
                id,
                module: self.id,
                url: self.url.to_string(),
            },
            None,
        );
        let limit = self.engine.inner.options.load_timeout(self.key.domain);
        let answered = tokio::time::timeout(limit, self.answer(isolate, &mut asked)).await;
        let Ok(answer) = answered else {
            return Some((Err(self.load_timed_out(isolate).await), None));
        };
        let loaded = match answer {
            Ok(Answer::Done(text)) => {
                isolate.module_loaded(self.id);
                self.life.was_loaded.store(true, Ordering::Release);
                Ok(text)
            }
            Ok(Answer::Refused(text) | Answer::Failed(text)) => Err(LoadFailure::Module(text)),
            Ok(Answer::Lost(Lost(why)) | Answer::OutOfMemory(Lost(why))) => {
                Err(LoadFailure::Engine(why))
            }
            Ok(Answer::NotStarted | Answer::Withdrawn) => return None,
            Err(_) => Err(LoadFailure::Engine("its isolate ended".into())),
        };
        let notes = isolate.take_witnessed(&asked);
        if loaded.is_ok() {
            self.life.came_from(notes.as_ref());
        }
        Some((loaded, notes))
    }

    /// Handles a load that timed out. A factory that waits for ever leaves the isolate usable; one
    /// that loops does not, so its isolate is terminated.
    async fn load_timed_out(&self, isolate: &Isolate) -> LoadFailure {
        let alive = isolate.ping();
        if !alive.answered_within(PING_PATIENCE).await {
            isolate.terminate("a module in the same isolate did not end loading");
        }
        LoadFailure::Engine(format!(
            "timed out after {} s while it was imported or its factory ran",
            self.engine
                .inner
                .options
                .load_timeout(self.key.domain)
                .as_secs_f64()
        ))
    }
}

/// URL of the module of `js-runtime/16_pending.ts`. No file can have this name.
pub(super) const RESOLVER: &str = "haft:resolve";

/// Time in which an isolate that is not stuck answers a ping.
const PING_PATIENCE: Duration = Duration::from_millis(200);

/// Limit of the isolates that a request is sent to before its module has seen it.
pub(super) const MAX_ISOLATES: usize = 4;

pub(super) const NO_ISOLATE: &str = "other calls broke one isolate after another";

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
            inner
                .spares
                .expect(&inner.options, &key, || inner.runtime());
        }
    }

    fn key_of(&self, tier: Tier) -> IsolateKey {
        let code = self.key.code.clone();
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
