//! The V8 engine: the only module that names deno_core and V8.
//!
//! The rest of haft holds an [`Engine`], which is `Send`, and exchanges JSON text with it. Each
//! isolate runs in a worker process and contains modules. A process that does not answer is killed.
//! Programs are started elsewhere, by an implementation of [`Programs`].

mod access_prompter;
mod advertised;
mod approved_call;
mod asking;
mod boot;
mod cache;
mod call;
mod caller_bridge;
mod code_cache;
mod code_set;
mod connection;
mod debuggers;
mod domain;
mod eval_guard;
mod extension;
mod files;
mod generation;
pub mod graph;
mod inspector;
mod isolate;
mod isolate_state;
mod load_batch;
mod load_inputs;
mod load_trace;
mod loader;
mod memory;
mod messages;
mod module;
mod nested_calls;
mod op_host;
mod options;
mod pending;
mod permissions;
mod permits;
mod pinned;
mod placement;
mod platform;
mod prompts;
mod refusal;
mod render;
mod render_guard;
mod requests;
mod schema_check;
mod screen;
mod script;
mod script_process;
mod services;
mod session;
mod snapshot;
mod source;
mod spin_wait;
pub mod telemetry;
mod transpile_cache;
mod users;
mod verify;
mod version;
mod widgets;
mod worker;
mod worker_process;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use url::Url;

use haft_tool::{Debugging, Tier, TrustDomain, VerifiedFiles};

use cache::Cache;
pub use call::{Ended, ModuleCall};
pub use code_set::CodeSet;
use connection::{Connection, ConnectionRuntime, Spares};
pub use debuggers::{Inspector, InspectorSession};
pub use domain::{CodePaths, IsolateKey};
use generation::{Generation, Generations};
pub use inspector::InspectedIsolate;
pub use load_batch::{Described, LoadBatch, LoadRequest};
pub use loader::is_provided;
pub use messages::Lost;
use messages::{Answer, Ask, Termination};
use module::RESOLVER;
pub use module::{LoadFailure, Module};
pub use options::{EngineOptions, ProjectOptions};
use pending::PendingActions;
pub use permits::{GrantedNow, PermitStore};
pub use render::Drawn;
pub use screen::ScreenView;
use script::ScriptWorkers;
pub use script::{
    ExpressionError, Place, Script, ScriptAnswer, ScriptEvent, ScriptFailure, ScriptLimits,
    ScriptRequest, ScriptSource,
};
pub use services::{Programs, ToolLog, WorkerProcess, Workers};
pub use session::new_session_id;
pub use spin_wait::{CallSpin, LeftOutCall, SpinningCall, has_several_cores};
pub use verify::Verifier;
pub use version::version;
pub use worker_process::{run_worker, run_zygote};

/// Time in which the thread of the connections has to end after them.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the modules of tools. Cheap to clone; starts nothing before the first module. Modules that
/// are loaded through one handle and its clones share isolates.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    generation: Arc<Generation>,
}

struct Inner {
    options: EngineOptions,
    generations: Generations,
    /// Every isolate that may still exist, retired and terminated ones too.
    isolates: std::sync::Mutex<Vec<Arc<Connection>>>,
    next_module: AtomicU32,
    pending: Arc<PendingActions>,
    scripts: Arc<ScriptWorkers>,
    /// Cache of descriptions from earlier processes.
    cache: Option<Arc<Cache>>,
    spares: Arc<Spares>,
    /// The runtime of the connections, which is started with the first one.
    runtime: std::sync::Mutex<Option<ConnectionRuntime>>,
    /// The list of isolates to which a debugger can attach; `None` if none can.
    inspector: Option<Arc<Inspector>>,
}

impl Engine {
    /// Returns an engine that has not started anything yet.
    pub fn new(options: EngineOptions) -> Self {
        let inner = Arc::new(Inner {
            inspector: options.debugging.is_inspected.then(Arc::default),
            pending: Arc::new(PendingActions::new(options.supports_pending_actions)),
            cache: Cache::open(&options).map(Arc::new),
            scripts: Arc::default(),
            options,
            generations: Generations::default(),
            isolates: std::sync::Mutex::default(),
            next_module: AtomicU32::new(1),
            spares: Arc::default(),
            runtime: std::sync::Mutex::default(),
        });
        let generation = inner.generations.begin();
        Engine { inner, generation }
    }

    /// Loads the module with the tool `resolve`, which ends pending actions. Its calls run in the
    /// isolate of the newest pending action.
    ///
    /// # Errors
    /// When no isolate can be started.
    pub async fn load_resolver(&self) -> Result<(Module, String), LoadFailure> {
        let url = Url::parse(RESOLVER).expect("it is a URL");
        // Its own code accesses nothing, so it runs in the isolates with all rights of the user.
        let rights = &self.inner.options.rights;
        let key = IsolateKey::of_tier(TrustDomain::User, rights, None, Tier::Exec);
        self.load_url(url, key, rights.clone()).await.0
    }

    /// Keeps a worker process ready for the next module that needs one, for a host that serves
    /// callers for a long time. None is started before a module is known.
    pub fn keep_spare_worker(&self) {
        // A debugger would see a spare as an isolate without modules.
        if self.inner.options.debugging == Debugging::default() {
            self.inner.spares.keep();
        }
    }

    /// Returns the list of isolates to which a debugger can attach; `None` if none can.
    pub fn inspector(&self) -> Option<&Arc<Inspector>> {
        self.inner.inspector.as_ref()
    }

    /// Stops the profilers, and returns the profile of the isolate that began last as JSON; `None`
    /// if the module to profile did not run.
    pub async fn profile(&self) -> Option<Result<String, String>> {
        let mut profile = None;
        for generation in self.inner.generations.living() {
            let isolates: Vec<_> = generation.homes.lock().await.isolates().cloned().collect();
            for isolate in isolates {
                let limit = self.inner.options.load_timeout(isolate.key().domain);
                let asked = isolate.ask(|id| Ask::Profile { id }, None);
                match tokio::time::timeout(limit, asked).await {
                    Ok(Ok(Answer::Done(text))) if text.is_empty() => {}
                    Ok(Ok(Answer::Done(text))) => profile = Some(Ok(text)),
                    Ok(Ok(Answer::Failed(why))) => profile = Some(Err(why)),
                    Ok(_) => {}
                    Err(_) => {
                        let why = "its isolate did not answer".to_owned();
                        profile = profile.or(Some(Err(why)));
                    }
                }
            }
        }
        profile
    }

    /// Sets the files that the project's modules may load from now on.
    pub fn trust(&self, files: Arc<VerifiedFiles>) {
        if let Some(verifier) = &self.inner.options.verifier {
            for isolate in &*self.isolates() {
                isolate.trust(&files);
            }
            verifier.trust(files);
        }
    }

    /// Drops what users granted the tools in `file` when they were asked, because its module is
    /// loaded with permissions that contain the stored grants.
    pub fn forget_granted(&self, file: &Path) {
        self.inner.options.granted.forget(file);
    }

    /// Returns the files that the project's modules loaded although they are not trusted yet.
    pub fn learned(&self) -> BTreeMap<PathBuf, blake3::Hash> {
        let verifier = self.inner.options.verifier.as_ref();
        verifier
            .map(|verifier| verifier.learned())
            .unwrap_or_default()
    }

    /// Returns true if tools may leave actions pending.
    pub fn offers_pending(&self) -> bool {
        self.inner.pending.is_offered()
    }

    /// Forbids tools to leave actions pending from now on.
    pub fn disable_pending_actions(&self) {
        self.inner.pending.withhold();
    }

    /// Returns the label of the newest pending action.
    pub fn newest_pending(&self) -> Option<String> {
        self.inner.pending.newest_label()
    }

    /// Returns true if any action is pending.
    pub fn has_pending(&self) -> bool {
        self.inner.pending.any()
    }

    /// Describes the pending actions that were lost with their isolates since the last call.
    pub fn take_lost_pending(&self) -> Option<String> {
        self.inner.pending.take_lost()
    }

    /// Ends all isolates; running calls fail. Takes a second at most.
    pub async fn shutdown(&self) {
        // A program that ends after one call leaves the rest to the system; after a server, nothing of
        // it may be left that holds a port.
        let waits_for_end = self.inner.spares.is_kept();
        self.inner.scripts.close().await;
        self.inner.spares.close(&self.inner.options).await;
        // Dropping the last handle terminates an isolate that is not terminated yet.
        for generation in self.inner.generations.living() {
            drop(std::mem::take(&mut *generation.homes.lock().await));
        }
        let isolates = std::mem::take(&mut *self.isolates());
        for isolate in &isolates {
            isolate.terminate(Termination::because("the host is shutting down"));
        }
        for isolate in &isolates {
            isolate.state().gone().await;
            if waits_for_end {
                let _ = tokio::time::timeout(RUNTIME_TIMEOUT, isolate.reaped()).await;
            }
        }
        drop(isolates);
        let runtime = lock(&self.inner.runtime).take();
        if let Some(runtime) = runtime {
            runtime.end(RUNTIME_TIMEOUT).await;
        }
    }

    fn isolates(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Connection>>> {
        lock(&self.inner.isolates)
    }
}

impl Inner {
    fn runtime(&self) -> std::io::Result<ConnectionRuntime> {
        let mut runtime = lock(&self.runtime);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.clone());
        }
        let started = ConnectionRuntime::start(self.options.runtime.as_ref())?;
        Ok(runtime.insert(started).clone())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Actions hold their isolates, which hold the list of actions.
        self.pending.let_go();
    }
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
