//! The V8 room: the only place that names deno_core and V8.
//!
//! The rest of haft holds an [`Engine`], which is `Send`, and speaks JSON text with it. Modules
//! live in isolates, an isolate lives on a thread of its own, and a thread that does not
//! answer is ended without asking it. Programs are started elsewhere: the engine is given
//! [`Programs`] and never knows how.

mod boot;
mod extension;
mod gated;
pub mod graph;
mod isolate;
mod link;
mod loader;
mod pending;
mod schema_check;
mod snapshot;
mod thread;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use url::Url;

pub use extension::LogLevel;
use isolate::Isolate;
pub use isolate::{Answer, Ask, Lost};
use pending::PendingActions;

use crate::error::Error;
use crate::tool::{CallCtx, Stopped};

/// Runs the modules of tools. Cheap to clone; starts nothing before the first module.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    options: EngineOptions,
    current: Mutex<Option<Arc<Isolate>>>,
    next_module: AtomicU32,
    pending: Arc<PendingActions>,
}

/// What an engine needs to know and have.
#[derive(Clone)]
pub struct EngineOptions {
    /// `pi.cwd`, absolute.
    pub cwd: PathBuf,
    /// V8's heap limit of one isolate, in MB.
    pub heap_mb: u32,
    /// How long a call may go on after its AbortSignal fired.
    pub grace: Duration,
    /// How long importing a module and running its factory may take.
    pub load_timeout: Duration,
    /// What Web and Node APIs may touch.
    pub access: Access,
    /// Starts and stops programs.
    pub programs: Arc<dyn Programs>,
    /// Takes what tools say.
    pub log: Arc<dyn ToolLog>,
    /// Previewed actions can be resolved later.
    pub has_later: bool,
}

/// What Web and Node APIs may touch, by kind: `None` nothing, an empty list everything, else what
/// is listed in Deno's notation (paths, hosts, names).
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the kinds are Deno's own words")]
pub struct Access {
    pub env: Option<Vec<String>>,
    pub ffi: Option<Vec<String>>,
    pub import: Option<Vec<String>>,
    pub net: Option<Vec<String>>,
    pub read: Option<Vec<String>>,
    pub run: Option<Vec<String>>,
    pub sys: Option<Vec<String>>,
    pub write: Option<Vec<String>>,
}

/// Starts programs for tools. Implemented by whoever may use `process`.
pub trait Programs: Send + Sync {
    /// Runs what `request` (the JSON of `js-runtime/11_exec.ts`) says until it ends or `cancel`
    /// fires, and answers with the JSON of an `ExecAnswer`.
    fn exec(
        &self,
        request: String,
        cancel: CancellationToken,
    ) -> Pin<Box<dyn Future<Output = String> + Send>>;

    /// Kills every process that the thread `thread_id` started and that still runs.
    fn kill_started_by(&self, thread_id: i32);
}

/// Takes what tools write with `pi.logger` and `console`, and warnings about them.
pub trait ToolLog: Send + Sync {
    /// One line. `context` is the JSON text of an object, or empty.
    fn log(&self, level: LogLevel, tool: &str, message: &str, context: &str);
}

/// A module that the engine knows. It is imported again, on demand, when its isolate was lost.
#[derive(Clone)]
pub struct Module {
    engine: Engine,
    id: u32,
    url: Url,
}

/// Why a module could not be loaded: the JSON text `{error, stack?}` or a sentence of ours.
#[derive(Debug)]
pub enum LoadFailure {
    /// The module refused or failed; JSON with its text and stack.
    Module(String),
    /// It did not end in time, or its isolate was lost.
    Engine(String),
}

/// How a call ended, before anyone reads its result.
#[derive(Debug)]
pub enum Ended {
    /// The tool ended; the text is the JSON of its result. The flag tells that it was asked to stop.
    Result(String, Option<Stopped>),
    /// The arguments do not fit; the text says why.
    Refused(String),
    /// It may not start; the error says who refused.
    Denied(Error),
    /// It was told to stop before it started.
    NotStarted(Stopped),
    /// It did not end although it was told to, and was left behind or killed.
    Killed(Stopped),
    /// It could not be run, or its isolate was lost under it.
    Lost(Lost),
}

impl Engine {
    /// An engine that has not started anything yet.
    pub fn new(options: EngineOptions) -> Self {
        Engine(Arc::new(Inner {
            pending: Arc::new(PendingActions::new(options.has_later)),
            options,
            current: Mutex::default(),
            next_module: AtomicU32::new(1),
        }))
    }

    /// Imports the module at `path`, runs its factory, and gives the JSON `{tools: […]}` that
    /// describes what it offers.
    ///
    /// # Errors
    /// With the module's own error, or ours when it did not end in time.
    pub async fn load(
        &self,
        path: &Path,
        query: Option<&str>,
    ) -> Result<(Module, String), LoadFailure> {
        let mut url = Url::from_file_path(path).map_err(|()| {
            LoadFailure::Engine(format!("'{}' is not an absolute path", path.display()))
        })?;
        url.set_query(query);
        self.load_url(url).await
    }

    /// The module with the tool `resolve`, which ends pending actions. Its calls run where the
    /// newest of them lives.
    ///
    /// # Errors
    /// When no isolate can be had.
    pub async fn load_resolver(&self) -> Result<(Module, String), LoadFailure> {
        let url = Url::parse(RESOLVER).expect("it is a URL");
        self.load_url(url).await
    }

    async fn load_url(&self, url: Url) -> Result<(Module, String), LoadFailure> {
        let module = Module {
            engine: self.clone(),
            id: self.0.next_module.fetch_add(1, Ordering::Relaxed),
            url,
        };
        let isolate = self.isolate().await?;
        let described = module.load_into(&isolate).await?;
        Ok((module, described))
    }

    /// Whether tools may leave actions pending.
    pub fn offers_pending(&self) -> bool {
        self.0.pending.is_offered()
    }

    /// From now on they may not.
    pub fn withhold_pending(&self) {
        self.0.pending.withhold();
    }

    /// Whether any action is pending.
    pub fn has_pending(&self) -> bool {
        self.0.pending.any()
    }

    /// Which pending actions were lost with their isolates since this was asked last, in words.
    pub fn take_lost_pending(&self) -> Option<String> {
        self.0.pending.take_lost()
    }

    /// Delivers the JSON of a session event to every `onSession` of every loaded module.
    pub async fn session_event(&self, event: &str) {
        let current = self.0.current.lock().await.clone();
        if let Some(isolate) = current {
            let ask = isolate.ask(
                |id| Ask::Session {
                    id,
                    event: event.to_owned(),
                },
                None,
            );
            // An isolate that is lost meanwhile has no listeners left to wait for.
            let _ = tokio::time::timeout(self.0.options.load_timeout, ask.answer).await;
        }
    }

    /// Ends all isolates; running calls fail.
    pub async fn shutdown(&self) {
        if let Some(isolate) = self.0.current.lock().await.take() {
            isolate.terminate("the host is shutting down");
            isolate.gone().await;
        }
    }

    /// The isolate for new work; a fresh one if the last was lost or retired.
    async fn isolate(&self) -> Result<Arc<Isolate>, LoadFailure> {
        let mut current = self.0.current.lock().await;
        if let Some(isolate) = &*current
            && isolate.takes_work()
        {
            return Ok(isolate.clone());
        }
        let isolate = Isolate::start(&self.0.options, self.0.pending.clone())
            .await
            .map_err(LoadFailure::Engine)?;
        *current = Some(isolate.clone());
        Ok(isolate)
    }
}

impl Module {
    /// Calls the tool at `index` of the module. Ends soon after `ctx.cancel` fires, whatever the
    /// tool does: the AbortSignal, then the grace period, then the isolate goes.
    pub async fn invoke(
        &self,
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
    ) -> Ended {
        if ctx.cancel.is_cancelled() {
            return Ended::NotStarted(ctx.stop_reason());
        }
        let isolate = match self.ready_isolate().await {
            Ok(isolate) => isolate,
            Err(lost) => return Ended::Lost(lost),
        };
        match &ctx.gate {
            Some(gate) => {
                self.invoke_behind(&**gate, &isolate, index, call_id, arguments, ctx)
                    .await
            }
            None => {
                self.invoke_in(&isolate, index, call_id, arguments, ctx)
                    .await
            }
        }
    }

    async fn invoke_in(
        &self,
        isolate: &Arc<Isolate>,
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
    ) -> Ended {
        let asked = isolate.ask(
            |id| Ask::Invoke {
                id,
                module: self.id,
                tool: index,
                call_id: call_id.to_owned(),
                arguments: arguments.get().to_owned(),
            },
            Some(ctx.updates.clone()),
        );
        self.follow(isolate, asked, ctx).await
    }

    /// Waits for the end of a call that has been asked for, or makes it end.
    async fn follow(
        &self,
        isolate: &Arc<Isolate>,
        mut asked: isolate::Asked,
        ctx: &CallCtx,
    ) -> Ended {
        tokio::select! {
            biased;
            answer = &mut asked.answer => ended(answer, None),
            () = ctx.cancel.cancelled() => {
                let why = ctx.stop_reason();
                self.stop(isolate, asked, why).await
            }
        }
    }

    /// Checks arguments without calling.
    pub async fn check(&self, index: u32, arguments: &RawValue) -> Ended {
        let isolate = match self.ready_isolate().await {
            Ok(isolate) => isolate,
            Err(lost) => return Ended::Lost(lost),
        };
        let asked = isolate.ask(
            |id| Ask::Check {
                id,
                module: self.id,
                tool: index,
                arguments: arguments.get().to_owned(),
            },
            None,
        );
        match tokio::time::timeout(self.engine.0.options.load_timeout, asked.answer).await {
            Ok(answer) => ended(answer, None),
            Err(_) => {
                isolate.terminate("a schema did not end checking its arguments");
                Ended::Lost(Lost("checking the arguments did not end in time".into()))
            }
        }
    }

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
        let limit = self.engine.0.options.load_timeout;
        match tokio::time::timeout(limit, asked.answer).await {
            Ok(Ok(Answer::Done(text))) => Some(text),
            Ok(_) => None,
            Err(_) => {
                isolate.terminate("the description of a tool did not end");
                None
            }
        }
    }

    /// The stop ladder: ask, wait for the grace period, then end the isolate. One that still answers
    /// is retired, so that other calls in it finish; one that does not is terminated.
    async fn stop(&self, isolate: &Arc<Isolate>, mut asked: isolate::Asked, why: Stopped) -> Ended {
        isolate.send(Ask::Cancel {
            id: asked.id,
            reason: abort_reason(why).to_owned(),
        });
        let alive = isolate.ping();
        if let Ok(answer) =
            tokio::time::timeout(self.engine.0.options.grace, &mut asked.answer).await
        {
            return ended(answer, Some(why));
        }
        if alive.was_answered() {
            isolate.retire(asked.id);
        } else {
            isolate.terminate("a call in the same isolate ignored its cancellation and was killed");
        }
        Ended::Killed(why)
    }

    /// The current isolate with this module in it; for the resolver that of the newest action.
    async fn ready_isolate(&self) -> Result<Arc<Isolate>, Lost> {
        let home = match self.url.as_str() == RESOLVER {
            true => self.engine.0.pending.newest_home(),
            false => None,
        };
        let isolate = match home {
            Some(home) => home,
            None => {
                let isolate = self.engine.isolate().await;
                isolate.map_err(|error| Lost(error.text()))?
            }
        };
        if !isolate.has_module(self.id) {
            self.load_into(&isolate).await.map_err(|error| {
                Lost(format!(
                    "the module could not be loaded again: {}",
                    error.text()
                ))
            })?;
        }
        Ok(isolate)
    }

    async fn load_into(&self, isolate: &Arc<Isolate>) -> Result<String, LoadFailure> {
        let asked = isolate.ask(
            |id| Ask::Load {
                id,
                module: self.id,
                url: self.url.to_string(),
            },
            None,
        );
        let limit = self.engine.0.options.load_timeout;
        match tokio::time::timeout(limit, asked.answer).await {
            Ok(Ok(Answer::Done(text))) => {
                isolate.module_loaded(self.id);
                Ok(text)
            }
            Ok(Ok(Answer::Refused(text) | Answer::Failed(text))) => Err(LoadFailure::Module(text)),
            Ok(Ok(Answer::Lost(Lost(why)))) => Err(LoadFailure::Engine(why)),
            Ok(Err(_)) => Err(LoadFailure::Engine("its isolate ended".into())),
            Err(_) => {
                // A factory that waits for ever leaves the isolate usable; one that loops does not.
                let alive = isolate.ping();
                tokio::time::sleep(PING_PATIENCE).await;
                if !alive.was_answered() {
                    isolate.terminate("a module in the same isolate did not end loading");
                }
                Err(LoadFailure::Engine(format!(
                    "timed out after {} s while it was imported or its factory ran",
                    limit.as_secs_f64()
                )))
            }
        }
    }
}

/// The module of `js-runtime/16_pending.ts`, which no file can be named like.
const RESOLVER: &str = "haft:resolve";

/// How long an isolate that is not stuck may take to answer a ping.
const PING_PATIENCE: Duration = Duration::from_millis(200);

fn ended(
    answer: Result<Answer, tokio::sync::oneshot::error::RecvError>,
    why: Option<Stopped>,
) -> Ended {
    match answer {
        Ok(Answer::Done(text)) => Ended::Result(text, why),
        Ok(Answer::Refused(text)) => Ended::Refused(text),
        Ok(Answer::Failed(text)) => Ended::Lost(Lost(text)),
        Ok(Answer::Lost(lost)) => Ended::Lost(lost),
        Err(_) => Ended::Lost(Lost("its isolate ended".into())),
    }
}

/// The text that `signal.reason` holds; the first is the original program's (spec omp 8).
pub(crate) fn abort_reason(why: Stopped) -> &'static str {
    match why {
        Stopped::Cancelled | Stopped::Discarded => "Interrupted by user",
        Stopped::Deadline => "The call timed out",
        Stopped::HostShutdown => "The host is shutting down",
    }
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
