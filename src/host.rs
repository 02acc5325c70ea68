//! The tool host: finds tools, lists them and calls them, all behind one handle.

mod builder;
mod call;
mod call_log;
mod catalog;
mod current_rights;
mod handle;
mod load_paths;
mod load_state;
#[cfg(feature = "cli")]
mod mcp;
mod measures;
mod nested;
mod program_tools;
mod reach;
mod refresh;
mod render;
mod sdk;
mod session;
mod span;
mod untrusted;
mod watcher;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex, OnceCell, watch};
use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::audit;
use crate::execute::Spill;
pub(crate) use crate::family::custom::{CustomTool, Invocation, ToolOutput};
use crate::family::js::{self, RESOLVE, World};
#[cfg(feature = "cli")]
pub(crate) use crate::family::mcp::ServerState;
#[cfg(feature = "cli")]
pub(crate) use crate::family::remote::machine_roots;
use crate::family::rights::Sandboxes;
use crate::family::{self, Connections, ListingFolder, LoadContext};
use crate::registry::{Builder, Catalog, Entry};
pub use builder::{HostBuilder, TrustPolicy};
pub use call::RunningCall;
use call_log::CallLog;
pub(crate) use call_log::{CallEnd, CallListener, CallRecord};
pub(crate) use catalog::no_such_tool;
use haft_config::{Config, UserFolder};
use haft_discover::{Candidate, Places};
pub(crate) use haft_engine::telemetry;
use haft_engine::{CallSpin, Engine};
pub(crate) use haft_engine::{InspectedIsolate, Inspector, InspectorSession};
use haft_tool::{
    CatalogChange, CurrentSession, DefaultUser, Problem, Replay, Runner, ScanState, Tool,
};
use handle::HandleOptions;
pub(crate) use handle::HandleTools;
pub use load_paths::Loaded;
use load_state::LoadState;
pub(crate) use nested::NestedUser;
use program_tools::OwnTools;
pub(crate) use reach::ReachableTool;
use refresh::Found;
pub use sdk::HostExt;
pub(crate) use span::CallSource;
pub use watcher::{Reload, WatchGuard};

/// A tool host. Cheap to clone; all clones are the same host. Work starts only when it is needed.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
    options: HandleOptions,
}

struct Inner {
    config: Config,
    /// The configuration with the rights of tools as its files grant them now.
    rights: parking_lot::RwLock<current_rights::CurrentRights>,
    /// Engine for the host's own modules. Tools are in other generations of it.
    engine: Engine,
    /// Sandboxes of the tools' programs.
    sandboxes: Arc<Sandboxes>,
    connections: Connections,
    /// Generation into which new modules are loaded.
    base: parking_lot::Mutex<Engine>,
    spill: Spill,
    /// User interface for handles without their own.
    default_user: Arc<DefaultUser>,
    session: Arc<CurrentSession>,
    /// The tool that resolves pending actions, made with the first of them.
    resolver: OnceCell<Arc<Entry>>,
    /// Held during the first search, a load by name, and the swap of a catalog.
    loaded: Mutex<LoadedSoFar>,
    /// Held during a refresh and a load by name. Calls never wait for it.
    refreshing: Mutex<()>,
    /// Held from the state before a refresh until the differences are known.
    comparing: Mutex<()>,
    scan: watch::Sender<ScanState>,
    /// The last change of the catalog that callers see.
    changes: watch::Sender<Arc<CatalogChange>>,
    /// Number of times that the problems of the catalog have changed.
    problem_changes: watch::Sender<u64>,
    /// Number of times that the rights of known tools have changed.
    rights_changes: watch::Sender<u64>,
    /// Problems that a watch noted: files that cannot be watched, a changed configuration.
    watching: parking_lot::Mutex<Vec<Problem>>,
    /// Cancelled when the host shuts down.
    closing: CancellationToken,
    /// Cancelled when the host takes no new calls.
    draining: CancellationToken,
    /// Statistics of the calls, which decide whether callers spin while they wait.
    call_spin: Arc<CallSpin>,
    call_log: CallLog,
    /// Numbers about the calls, if they are collected.
    measures: OnceLock<measures::Measures>,
    /// The tools of the embedding program.
    embedded_tools: Catalog,
    /// These tools and those of the connected program, which every catalog begins with.
    own: parking_lot::Mutex<OwnTools>,
    /// Cancelled when the first catalog need not wait for the tools of the connected program.
    expected_tools: OnceLock<CancellationToken>,
    /// Fields of the log that all calls share.
    place: Arc<audit::Place>,
    /// Hash of the grant that the last check of the project's tools used.
    grant: parking_lot::Mutex<Option<Arc<str>>>,
}

/// The tools so far. Paths may be loaded by name before the whole catalog is needed.
#[derive(Default)]
struct LoadedSoFar {
    catalog: Arc<Catalog>,
    /// The catalog with the descriptions that the tools had when they were loaded. A description
    /// that is computed anew at each look is therefore not a change.
    loaded_catalog: Arc<Catalog>,
    /// True if the search for all tools has been done.
    is_scanned: bool,
    /// Files that were loaded by name, to be there again after a refresh.
    given: Vec<Candidate>,
    /// Loaded modules and files, with the versions that they were loaded from.
    known: LoadState,
    /// Version of the program's own tools in the catalog.
    own_version: u64,
    /// Files and folders that determine which tools exist, for a watch.
    places: Places,
    /// Names of the ikigai tools in catalogs before a refresh. A call of one that is missing now
    /// gets ikigai's envelope instead of an error.
    removed_ikigai: HashSet<String>,
}

/// Parts of a host besides its configuration.
#[derive(Default)]
pub(crate) struct Setup {
    /// The tools of the embedding program, each with its own name.
    pub(crate) tools: Vec<(Candidate, family::Loaded)>,
    /// Environment of the modules.
    pub(crate) world: World,
}

thread_local! {
    static PROGRAM_RUNTIME: RefCell<Option<Handle>> = const { RefCell::new(None) };
}

/// Sets the runtime of all callers of the hosts that are made on this thread from now on. It must
/// outlive them.
#[cfg(feature = "cli")]
pub(crate) fn set_program_runtime(runtime: Option<Handle>) {
    PROGRAM_RUNTIME.set(runtime);
}

impl Setup {
    /// Returns the setup of a host for more than one call. It supports pending actions.
    fn lasting() -> Setup {
        let mut setup = Setup::default();
        setup.world.supports_pending_actions = true;
        setup
    }
}

/// Time beyond the grace period, for the kill itself and for the replies to arrive.
const MARGIN: Duration = Duration::from_millis(500);

/// Maximum time that tools have for the end of the session.
const FAREWELL: Duration = Duration::from_secs(2);

const SHUT_DOWN: &str = "the host has been shut down";

impl LoadedSoFar {
    /// Takes over the result of a search.
    fn take(&mut self, found: Found, base: &parking_lot::Mutex<Engine>) {
        self.catalog = Arc::new(found.catalog);
        self.known = found.known;
        self.own_version = found.own_version;
        self.places = found.places;
        *base.lock() = found.base;
    }
}

impl Host {
    /// Creates a host with this configuration.
    pub fn new(config: Config) -> Host {
        Host::with(config, Setup::lasting())
    }

    /// Returns a builder for a host with more than a configuration.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Creates a host that ends after one call. It has no pending actions, because a preview could
    /// never be applied.
    pub(crate) fn for_one_call(config: Config) -> Host {
        Host::with(config, Setup::default())
    }

    /// Creates a host for one test of tools. `tape` records or replays their external I/O. `env`
    /// overrides variables of the process's environment.
    pub(crate) fn for_trial(
        config: Config,
        tape: Option<Arc<dyn Replay>>,
        env: BTreeMap<String, Option<String>>,
    ) -> Host {
        let mut setup = Setup::lasting();
        setup.world.tape = tape;
        setup.world.env = env;
        Host::with(config, setup)
    }

    /// Creates a host for one test, with these tools besides those of the configuration.
    pub(crate) fn for_trial_of(config: Config, tools: Vec<(Tool, Arc<dyn Runner>)>) -> Host {
        let mut setup = Setup::lasting();
        let tools = tools.into_iter();
        setup.tools = tools
            .map(|(tool, runner)| family::custom::loaded(tool, runner))
            .collect();
        Host::with(config, setup)
    }

    /// Creates a host that also loads untrusted files of a trusted project, and notes them.
    pub(crate) fn learning(config: Config) -> Host {
        let mut setup = Setup::default();
        setup.world.is_learning = true;
        Host::with(config, setup)
    }

    /// Returns the untrusted files that modules of the project loaded, with their digests.
    pub(crate) fn learned(&self) -> BTreeMap<PathBuf, blake3::Hash> {
        self.inner.engine.learned()
    }

    fn with(config: Config, setup: Setup) -> Host {
        let Setup { tools, mut world } = setup;
        world.runtime = PROGRAM_RUNTIME.with_borrow(Clone::clone);
        // A program with its own tool of this name resolves its previews itself.
        let has_name = config
            .built_in_tool_names
            .iter()
            .all(|name| name != RESOLVE);
        world.supports_pending_actions &= has_name;
        // The program's own tools may have reserved names, so none are reserved here.
        let mut own = Builder::new(Catalog::default(), &[], &config.rename, &config.approval);
        for (candidate, loaded) in tools {
            own.add(&candidate, loaded);
        }
        let own = own.finish();
        let so_far = LoadedSoFar {
            catalog: Arc::new(own.clone()),
            loaded_catalog: Arc::new(own.clone()),
            ..LoadedSoFar::default()
        };
        let (default_user, session) = (world.default_user.clone(), world.session.clone());
        let sandboxes = Arc::new(Sandboxes::new(&config));
        span::start_telemetry(&config);
        let log = js::tool_log(&config);
        let connections = Connections::new(&config, log.clone());
        let engine = js::engine(&config, world, &sandboxes, log);
        let inner = Inner {
            default_user,
            session,
            base: parking_lot::Mutex::new(engine.new_generation()),
            engine,
            resolver: OnceCell::new(),
            place: Arc::new(audit::Place::of(&config)),
            sandboxes,
            connections,
            grant: parking_lot::Mutex::default(),
            spill: Spill::new(
                config.state_dir.user_folder(UserFolder::Outputs),
                config.limits.spill_kb,
            ),
            rights: parking_lot::RwLock::new(current_rights::CurrentRights::new(&config)),
            config,
            loaded: Mutex::new(so_far),
            refreshing: Mutex::default(),
            comparing: Mutex::default(),
            scan: watch::Sender::default(),
            changes: watch::Sender::default(),
            problem_changes: watch::Sender::default(),
            rights_changes: watch::Sender::default(),
            watching: parking_lot::Mutex::default(),
            closing: CancellationToken::new(),
            draining: CancellationToken::new(),
            call_spin: Arc::default(),
            call_log: CallLog::default(),
            measures: OnceLock::new(),
            own: parking_lot::Mutex::new(OwnTools {
                catalog: own.clone(),
                version: 0,
            }),
            embedded_tools: own,
            expected_tools: OnceLock::new(),
        };
        Host::from_inner(Arc::new(inner))
    }

    /// Makes a handle with the default options.
    fn from_inner(inner: Arc<Inner>) -> Host {
        Host {
            inner,
            options: HandleOptions::of_user(),
        }
    }

    /// Returns the name and the version of the engine that runs the modules.
    pub fn engine_version() -> String {
        haft_engine::version()
    }

    /// Keeps one worker process ready for the next module that needs one, for a program that makes
    /// calls for a long time. Nothing is started before a module is known.
    pub fn keep_spare_worker(&self) {
        self.inner.engine.keep_spare_worker();
    }

    /// Returns the isolates of the tools for debuggers; `None` if they cannot be debugged.
    pub(crate) fn inspector(&self) -> Option<&Arc<Inspector>> {
        self.inner.engine.inspector()
    }

    /// Stops the profiler of the module that the configuration names, and returns its profile as
    /// JSON; `None` if the module did not run.
    pub(crate) async fn profile(&self) -> Option<Result<String, String>> {
        self.inner.engine.profile().await
    }

    /// Returns the configuration of the host.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Shuts the host down for good: nothing can be called afterwards. Cancels the running calls,
    /// and kills those that are still running after the grace period. Then delivers the end of the
    /// session to tools that received its start. This may take another grace period, but at most
    /// two seconds. Finally ends everything that was started.
    pub async fn shutdown(&self) {
        let grace = self.inner.config.limits.grace;
        self.shutdown_within(grace + MARGIN, grace.min(FAREWELL))
            .await;
    }

    /// Shuts the host down with timeouts for the end of the calls and of the session.
    pub(crate) async fn shutdown_within(&self, calls: Duration, session: Duration) {
        self.end_calls();
        // A timeout of one step does not delay the next.
        let _ = time::timeout(calls, self.inner.call_log.ended()).await;
        let _ = time::timeout(session, self.inner.engine.end_session()).await;
        // The end of the program waits for the log.
        audit::write_now();
        tokio::join!(self.inner.engine.shutdown(), self.inner.connections.close());
        self.inner.sandboxes.close();
    }

    /// Takes no new calls from now on. Calls that are parts of running ones still start.
    pub(crate) fn refuse_calls(&self) {
        self.inner.draining.cancel();
    }

    /// Waits until no call runs.
    pub(crate) async fn calls_ended(&self) {
        self.inner.call_log.ended().await;
    }

    /// Ends everything at once, without a grace period.
    pub async fn kill(&self) {
        self.end_calls();
        tokio::join!(self.inner.engine.shutdown(), self.inner.connections.close());
        self.inner.sandboxes.close();
    }

    /// Ends the host, then its calls. A call that starts in between sees that the host has ended.
    fn end_calls(&self) {
        self.inner.closing.cancel();
        self.inner.call_log.end_with_host();
    }

    /// `config` is that of [`Host::config_for_rights`].
    fn means<'a>(&'a self, engine: &'a Engine, config: &'a Config) -> LoadContext<'a> {
        LoadContext {
            config,
            engine,
            sandboxes: &self.inner.sandboxes,
            listing: ListingFolder::of(config),
        }
    }

    /// Returns the generation into which new modules are loaded.
    fn base(&self) -> Engine {
        self.inner.base.lock().clone()
    }

    fn assembly(&self, existing: Catalog) -> Builder<'_> {
        let config = &self.inner.config;
        let names = &config.built_in_tool_names;
        Builder::new(existing, names, &config.rename, &config.approval)
    }
}
