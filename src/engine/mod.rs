//! The V8 room: the only place that names deno_core and V8.
//!
//! The rest of haft holds an [`Engine`], which is `Send`, and speaks JSON text with it. Modules
//! live in isolates, an isolate lives on a thread of its own, and a thread that does not
//! answer is ended without asking it. Programs are started elsewhere: the engine is given
//! [`Programs`] and never knows how.

mod asking;
mod boot;
mod bytecode;
mod cache;
mod compiled;
mod drawing;
mod expressions;
mod extension;
mod files;
mod gated;
mod generation;
pub mod graph;
mod homes;
mod isolate;
mod kinship;
mod last_stand;
mod lazy;
mod link;
mod loader;
mod memory;
mod patience;
mod pending;
mod requests;
mod round;
mod schema_check;
mod screen;
mod session;
mod showing;
mod snapshot;
mod thread;
mod told;
mod undertaker;
mod users;
mod version;
mod witness;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use cache::Cache;
pub use drawing::Drawn;
pub use expressions::{ExpressionError, Expressions};
use generation::{Generation, Generations};
pub use isolate::{Answer, Ask, Lost};
use isolate::{Asked, Isolate, Shared};
pub use kinship::Kin;
use lazy::{Listener, ModuleLife};
pub(crate) use patience::has_several_cores;
use pending::PendingActions;
use requests::Doom;
pub use round::{Round, Wanted};
pub(crate) use screen::ScreenView;
pub use session::new_session_id;
pub use version::version;
use witness::Notes;

use crate::error::Error;
use crate::tool::{CallCtx, CurrentSession, DefaultUser, LogLevel, Stopped, Tape};

/// Runs the modules of tools. Cheap to clone; starts nothing before the first module. What is loaded
/// through one handle and its clones lives together.
#[derive(Clone)]
pub struct Engine(Arc<Inner>, Arc<Generation>);

struct Inner {
    options: EngineOptions,
    generations: Generations,
    /// Every isolate that may still be there, retired and doomed ones too.
    isolates: std::sync::Mutex<Vec<Arc<Shared>>>,
    next_module: AtomicU32,
    pending: Arc<PendingActions>,
    expressions: Expressions,
    /// What modules said in earlier processes.
    cache: Option<Arc<Cache>>,
}

/// What an engine needs to know and have.
#[derive(Clone)]
pub struct EngineOptions {
    /// `pi.cwd`, absolute.
    pub cwd: PathBuf,
    /// V8's heap limit of one isolate, in MB.
    pub heap_mb: u32,
    /// How many isolates modules may be spread over.
    pub isolates: u32,
    /// `ctx.sessionId`.
    pub session_id: String,
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
    /// Stands between `fetch` and the network, in tests of tools.
    pub tape: Option<Arc<dyn Tape>>,
    /// What is different for tools from the process's environment; `None`: it is not there.
    pub env: BTreeMap<String, Option<String>>,
    /// Previewed actions can be resolved later.
    pub has_later: bool,
    /// Whom tools ask where no call's own user is known.
    pub default_user: Arc<DefaultUser>,
    /// The conversation that calls belong to.
    pub session: Arc<CurrentSession>,
    /// `ctx.autoApprove`: calls run without a question.
    pub auto_approve: bool,
    /// The folder for what can be made again; `None`: remember nothing.
    pub cache: Option<PathBuf>,
}

impl EngineOptions {
    /// As much as all buffers of an isolate may hold.
    fn most_bytes_of_a_file(&self) -> u64 {
        u64::from(self.heap_mb) << 20
    }
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

/// A module that the engine knows. It is imported on demand: when it is first called, if its
/// description was remembered, and again when its isolate was lost.
#[derive(Clone)]
pub struct Module {
    engine: Engine,
    id: u32,
    url: Url,
    life: Arc<ModuleLife>,
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
    /// It broke the isolate in which it ran alone; the text says how.
    RanAway(Lost),
    /// Its file is not what it was when callers were told about it; the text says how.
    Changed(String),
    /// It could not be run, or its isolate was lost under it.
    Lost(Lost),
}

impl Engine {
    /// An engine that has not started anything yet.
    pub fn new(options: EngineOptions) -> Self {
        let inner = Arc::new(Inner {
            pending: Arc::new(PendingActions::new(options.has_later)),
            cache: Cache::open(&options).map(Arc::new),
            expressions: Expressions::new(options.heap_mb),
            options,
            generations: Generations::default(),
            isolates: std::sync::Mutex::default(),
            next_module: AtomicU32::new(1),
        });
        let generation = inner.generations.begin();
        Engine(inner, generation)
    }

    /// The module with the tool `resolve`, which ends pending actions. Its calls run where the
    /// newest of them lives.
    ///
    /// # Errors
    /// When no isolate can be had.
    pub async fn load_resolver(&self) -> Result<(Module, String), LoadFailure> {
        let url = Url::parse(RESOLVER).expect("it is a URL");
        self.load_url(url).await.0
    }

    /// Evaluates small expressions, in an isolate that no module shares.
    pub fn expressions(&self) -> &Expressions {
        &self.0.expressions
    }

    /// Whether tools may leave actions pending.
    pub fn offers_pending(&self) -> bool {
        self.0.pending.is_offered()
    }

    /// From now on they may not.
    pub fn withhold_pending(&self) {
        self.0.pending.withhold();
    }

    /// What the newest pending action says of itself.
    pub fn newest_pending(&self) -> Option<String> {
        self.0.pending.newest_label()
    }

    /// Whether any action is pending.
    pub fn has_pending(&self) -> bool {
        self.0.pending.any()
    }

    /// Which pending actions were lost with their isolates since this was asked last, in words.
    pub fn take_lost_pending(&self) -> Option<String> {
        self.0.pending.take_lost()
    }

    /// Delivers the JSON of a session event to every `onSession`, one after another. Modules that have
    /// one are loaded for it.
    pub async fn session_event(&self, event: &str) {
        for generation in self.0.generations.living() {
            let engine = Engine(self.0.clone(), generation);
            engine.wake_listeners().await;
            let isolates: Vec<_> = engine.1.homes.lock().await.isolates().cloned().collect();
            for isolate in isolates {
                let event = event.to_owned();
                let asked = isolate.ask(|id| Ask::Session { id, event }, None);
                // An isolate that is lost meanwhile has no listeners left to wait for.
                let _ = tokio::time::timeout(self.0.options.load_timeout, asked.answer).await;
            }
        }
    }

    /// Loads the modules that want to hear of session events.
    async fn wake_listeners(&self) {
        let listeners = lock(&self.1.listeners).clone();
        for Listener { id, url, life } in listeners {
            let engine = self.clone();
            let module = Module {
                engine,
                id,
                url,
                life,
            };
            // One that cannot be loaded hears nothing; its calls say why.
            let _ = module.ready_isolate().await;
        }
    }

    /// Ends all isolates; running calls fail. Takes a second at most: a thread that is stuck in
    /// native code is not waited for.
    pub async fn shutdown(&self) {
        // Dropping the last handle dooms an isolate that is not doomed yet.
        for generation in self.0.generations.living() {
            drop(std::mem::take(&mut *generation.homes.lock().await));
        }
        let isolates = std::mem::take(&mut *self.isolates());
        for isolate in &isolates {
            isolate.doom(Doom {
                why: "the host is shutting down".to_owned(),
                is_out_of_memory: false,
            });
        }
        for isolate in isolates {
            isolate.gone().await;
        }
    }

    fn isolates(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Shared>>> {
        lock(&self.0.isolates)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Actions hold their isolates, which hold the list of actions.
        self.pending.let_go();
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
        match &ctx.gate {
            Some(gate) => {
                self.invoke_behind(&**gate, index, call_id, arguments, ctx)
                    .await
            }
            None => self.invoke_now(index, call_id, arguments, ctx).await,
        }
    }

    /// Calls the tool without asking anybody.
    async fn invoke_now(
        &self,
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
    ) -> Ended {
        for _ in 0..MOST_ISOLATES {
            let isolate = match self.isolate_with(index).await {
                Ok(isolate) => isolate,
                Err(ended) => return ended,
            };
            let asked = isolate.ask(
                |id| Ask::Invoke {
                    id,
                    module: self.id,
                    tool: index,
                    call_id: call_id.to_owned(),
                    arguments: arguments.get().to_owned(),
                },
                Some(ctx.into()),
            );
            if let Some(ended) = self.follow(&isolate, asked, ctx).await {
                return ended;
            }
        }
        Ended::Lost(Lost(NO_ISOLATE.into()))
    }

    /// Waits for the end of a call that has been asked for, or makes it end; `None` if its isolate
    /// went before the tool saw the call.
    async fn follow(
        &self,
        isolate: &Arc<Isolate>,
        mut asked: Asked,
        ctx: &CallCtx,
    ) -> Option<Ended> {
        match self.answer_or_cancel(isolate, &mut asked, ctx).await {
            Some(answer) => ended(answer, None),
            None => Some(self.stop(isolate, asked, ctx.stop_reason()).await),
        }
    }

    /// The answer, or `None` when the call must end.
    async fn answer_or_cancel(
        &self,
        isolate: &Arc<Isolate>,
        asked: &mut Asked,
        ctx: &CallCtx,
    ) -> Option<Answered> {
        tokio::select! {
            biased;
            answer = self.answer(isolate, asked) => Some(answer),
            () = ctx.cancel.cancelled() => None,
        }
    }

    /// The answer, however long it takes. Meanwhile looks after a request that has to wait: its
    /// module may move, and what keeps the isolate busy may be nobody's.
    async fn answer(&self, isolate: &Arc<Isolate>, asked: &mut Asked) -> Answered {
        let asked_at = Instant::now();
        let grace = self.engine.0.options.grace;
        let look = tokio::time::sleep(BUSY.min(grace));
        tokio::pin!(look);
        let mut is_waiting = true;
        loop {
            tokio::select! {
                biased;
                answer = &mut asked.answer => return answer,
                () = &mut look, if is_waiting => {}
            }
            is_waiting = isolate.lets_wait(asked);
            isolate.tell_start(asked);
            let waited = asked_at.elapsed();
            if waited >= grace {
                isolate.terminate_if_haunted();
                is_waiting = false;
            } else if is_waiting {
                self.engine.relieve(isolate, self);
            }
            // Rarer and rarer, because ten thousand calls may wait; once more when the grace is over.
            let pause = waited.min(grace.saturating_sub(waited)).max(LEAST_PAUSE);
            look.as_mut().reset(Instant::now() + pause);
        }
    }

    /// Checks arguments without calling.
    pub async fn check(&self, index: u32, arguments: &RawValue) -> Ended {
        let isolate = match self.isolate_with(index).await {
            Ok(isolate) => isolate,
            Err(ended) => return ended,
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
            Ok(answer) => ended(answer, None).unwrap_or_else(not_started),
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
    async fn stop(&self, isolate: &Arc<Isolate>, mut asked: Asked, why: Stopped) -> Ended {
        isolate.send(Ask::Cancel {
            id: asked.id,
            reason: abort_reason(why).to_owned(),
        });
        let alive = isolate.ping();
        if let Ok(answer) =
            tokio::time::timeout(self.engine.0.options.grace, &mut asked.answer).await
        {
            // Whoever wants a call to stop does not want it to start anew.
            return ended(answer, Some(why)).unwrap_or(Ended::Killed(why));
        }
        if alive.was_answered() {
            isolate.retire(asked.id);
        } else {
            isolate.terminate("a call in the same isolate ignored its cancellation and was killed");
        }
        Ended::Killed(why)
    }

    /// The isolate for new work; for the resolver that of the newest action.
    async fn place(&self) -> Result<Arc<Isolate>, LoadFailure> {
        let home = match self.url.as_str() == RESOLVER {
            true => self.engine.0.pending.newest_home(),
            false => None,
        };
        match home {
            Some(home) => Ok(home),
            None => self.engine.isolate_for(self.id).await,
        }
    }

    /// The current isolate with this module in it.
    async fn ready_isolate(&self) -> Result<Arc<Isolate>, Lost> {
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
    async fn load_into(
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
        let limit = self.engine.0.options.load_timeout;
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
            Ok(Answer::NotStarted) => return None,
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
        tokio::time::sleep(PING_PATIENCE).await;
        if !alive.was_answered() {
            isolate.terminate("a module in the same isolate did not end loading");
        }
        LoadFailure::Engine(format!(
            "timed out after {} s while it was imported or its factory ran",
            self.engine.0.options.load_timeout.as_secs_f64()
        ))
    }
}

/// The module of `js-runtime/16_pending.ts`, which no file can be named like.
const RESOLVER: &str = "haft:resolve";

/// How long a request may wait before its isolate counts as busy.
const BUSY: Duration = Duration::from_millis(50);

/// Between two looks at a request that waits.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// How long an isolate that is not stuck may take to answer a ping.
const PING_PATIENCE: Duration = Duration::from_millis(200);

/// How often a request that its module has not seen is moved to a fresh isolate.
const MOST_ISOLATES: usize = 4;

const NO_ISOLATE: &str = "other calls broke one isolate after another";

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

type Answered = Result<Answer, tokio::sync::oneshot::error::RecvError>;

/// `None` if the tool has not seen the call.
fn ended(answer: Answered, why: Option<Stopped>) -> Option<Ended> {
    Some(match answer {
        Ok(Answer::Done(text)) => Ended::Result(text, why),
        Ok(Answer::Refused(text)) => Ended::Refused(text),
        Ok(Answer::Failed(text)) => Ended::Lost(Lost(text)),
        Ok(Answer::Lost(lost)) => Ended::Lost(lost),
        Ok(Answer::RanAway(lost)) => Ended::RanAway(lost),
        Ok(Answer::NotStarted) => return None,
        Err(_) => not_started(),
    })
}

fn not_started() -> Ended {
    Ended::Lost(Lost("its isolate ended".into()))
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
