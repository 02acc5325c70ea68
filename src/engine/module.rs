//! A module that the engine knows: the isolate where it is, and its way into one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use url::Url;

use super::isolate::{Answer, Ask, Isolate, Lost};
use super::lazy::ModuleLife;
use super::witness::Notes;
use super::{Engine, IsolateKey};

/// A module that the engine knows. It is imported on demand: when it is first called, if its
/// description was remembered, and again when its isolate was lost.
#[derive(Clone)]
pub struct Module {
    pub(super) engine: Engine,
    pub(super) id: u32,
    pub(super) url: Url,
    pub(super) key: IsolateKey,
    pub(super) life: Arc<ModuleLife>,
}

/// Why a module could not be loaded: the JSON text `{error, stack?}` or a sentence of ours.
#[derive(Debug)]
pub enum LoadFailure {
    /// The module refused or failed; JSON with its text and stack.
    Module(String),
    /// It did not end in time, or its isolate was lost.
    Engine(String),
}

impl LoadFailure {
    /// What happened, as a text.
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
    /// The description of the tool at `index` as it is now; `None` if it cannot be had.
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
        let limit = self.engine.0.options.load_timeout(self.key.domain);
        match tokio::time::timeout(limit, asked.answer).await {
            Ok(Ok(Answer::Done(text))) => Some(text),
            Ok(_) => None,
            Err(_) => {
                isolate.terminate("the description of a tool did not end");
                None
            }
        }
    }

    /// The isolate for new work; for the resolver that of the newest action.
    pub(super) async fn place(&self) -> Result<Arc<Isolate>, LoadFailure> {
        let home = match self.url.as_str() == RESOLVER {
            true => self.engine.0.pending.newest_home(),
            false => None,
        };
        match home {
            Some(home) => Ok(home),
            None => self.engine.isolate_for(self.id, &self.key).await,
        }
    }

    /// The isolate for new work, if there is one and that is known without waiting.
    pub(super) fn place_now(&self) -> Option<Arc<Isolate>> {
        match self.url.as_str() == RESOLVER {
            true => self.engine.0.pending.newest_home(),
            false => self.engine.isolate_now(self.id, &self.key),
        }
    }

    /// The current isolate with this module in it.
    pub(super) async fn ready_isolate(&self) -> Result<Arc<Isolate>, Lost> {
        for _ in 0..MOST_ISOLATES {
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

    /// Loads the module; `None` if the isolate went before it saw that.
    pub(super) async fn load_into(
        &self,
        isolate: &Arc<Isolate>,
    ) -> Option<(Result<String, LoadFailure>, Option<Notes>)> {
        let mut asked = isolate.ask(
            |id| Ask::Load {
                id,
                module: self.id,
                url: self.url.to_string(),
            },
            None,
        );
        let limit = self.engine.0.options.load_timeout(self.key.domain);
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
            Ok(Answer::Lost(Lost(why)) | Answer::RanAway(Lost(why))) => {
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

    /// A factory that waits for ever leaves the isolate usable; one that loops does not.
    async fn load_timed_out(&self, isolate: &Isolate) -> LoadFailure {
        let alive = isolate.ping();
        if !alive.answered_within(PING_PATIENCE).await {
            isolate.terminate("a module in the same isolate did not end loading");
        }
        LoadFailure::Engine(format!(
            "timed out after {} s while it was imported or its factory ran",
            self.engine
                .0
                .options
                .load_timeout(self.key.domain)
                .as_secs_f64()
        ))
    }
}

/// The module of `js-runtime/16_pending.ts`, which no file can be named like.
pub(super) const RESOLVER: &str = "haft:resolve";

/// How long an isolate that is not stuck may take to answer a ping.
const PING_PATIENCE: Duration = Duration::from_millis(200);

/// How often a request that its module has not seen is moved to a fresh isolate.
pub(super) const MOST_ISOLATES: usize = 4;

pub(super) const NO_ISOLATE: &str = "other calls broke one isolate after another";
