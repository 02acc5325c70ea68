//! Handle of a module: its current isolate, and how it is loaded into one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use url::Url;

use super::advertised::AdvertisedDescription;
use super::isolate::Isolate;
use super::load_trace::LoadTrace;
use super::messages::{Answer, Ask, Lost};
use super::{Engine, IsolateKey, lock};
use haft_tool::ToolRights;

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
        let notes = isolate.shared().take_witnessed(asked.id);
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
