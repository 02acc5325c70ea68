//! The whole of haft behind one handle: find tools, list them, call them.

mod abort;
mod audience;
mod builder;
mod calling;
mod catalog;
mod drawing;
mod known;
mod load;
mod pace;
mod paths;
mod pending;
mod plan;
mod recording;
mod running;
mod sdk;
mod search;
mod session;
mod stopper;
mod watching;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, OnceCell, watch};
use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::audit;
use crate::config::Config;
use crate::discover::{Candidate, Places};
use crate::engine::{self, Engine};
use crate::execute::Spill;
use crate::family::js::{self, RESOLVE, World};
use crate::family::{self, Means};
use crate::registry::{Builder, Catalog, Entry};
use crate::tool::{CatalogChange, CurrentSession, DefaultUser, Problem, ScanState, Tape};
use abort::Abortable;
use audience::Audience;
pub use builder::{HostBuilder, TrustPolicy};
use known::Known;
use pace::Pace;
pub use paths::Loaded;
pub(crate) use running::OutcomeOnly;
pub use running::{Events, RunningCall};
use search::Found;
pub use stopper::Stopper;
pub use watching::{Reload, Watching};

/// A tool host. Cheap to clone; all clones are the same host. Starts nothing before it must.
#[derive(Clone)]
pub struct Host(Arc<Inner>, Audience);

struct Inner {
    config: Config,
    /// Modules of the host's own; those of tools live in other generations of it.
    engine: Engine,
    /// Where modules that are new are loaded.
    base: std::sync::Mutex<Engine>,
    spill: Spill,
    /// For handles that have no user of their own.
    default_user: Arc<DefaultUser>,
    session: Arc<CurrentSession>,
    /// The tool that ends pending actions, made when there is the first.
    resolver: OnceCell<Arc<Entry>>,
    /// Held while tools are loaded: one load at a time.
    loaded: Mutex<LoadedSoFar>,
    /// Held while tools are looked for again, and never while a call waits for `loaded`.
    refreshing: Mutex<()>,
    scan: watch::Sender<ScanState>,
    /// The last change of what callers see.
    changes: watch::Sender<Arc<CatalogChange>>,
    /// How often what is wrong with the tools has changed.
    problem_changes: watch::Sender<u64>,
    /// What is wrong with watching files, while somebody wants that.
    watching: std::sync::Mutex<Vec<Problem>>,
    /// Fires when the host shuts down.
    closing: CancellationToken,
    /// How calls come, to wait for them accordingly.
    pace: Arc<Pace>,
    /// The calls that run.
    abortable: Abortable,
    /// The tools of the embedding program, which every catalog begins with.
    own: Catalog,
    /// What the log says of all calls.
    place: Arc<audit::Place>,
    /// The hash of the grant by which the project's tools were judged last.
    grant: std::sync::Mutex<Option<Arc<str>>>,
}

/// The tools so far. Paths may be loaded by name before anybody wants the whole catalog.
#[derive(Default)]
struct LoadedSoFar {
    catalog: Arc<Catalog>,
    /// The same with the descriptions that the tools had when they were loaded: one that is computed
    /// anew at each look is no change.
    as_loaded: Arc<Catalog>,
    /// Everything that can be found has been looked for.
    is_scanned: bool,
    /// What was loaded by name, to be there again after a refresh.
    given: Vec<Candidate>,
    /// What was loaded, and from what.
    known: Known,
    /// What decides what there is, for whoever watches it.
    places: Places,
    /// Tools of ikigai's that a refresh did not find any more. Whoever calls one was promised an
    /// envelope.
    departed: HashSet<String>,
}

/// What a host is made of besides its configuration.
#[derive(Default)]
pub(crate) struct Setup {
    /// The tools of the embedding program, which have names of their own.
    pub(crate) tools: Vec<(Candidate, family::Loaded)>,
    /// What modules find around them.
    pub(crate) world: World,
}

impl Setup {
    /// For a host that stays.
    fn lasting() -> Setup {
        let mut setup = Setup::default();
        setup.world.has_later = true;
        setup
    }
}

/// Beyond the grace period: for the killing itself, and for the answers to arrive.
const MARGIN: Duration = Duration::from_millis(500);

/// The longest that tools have for the end of the session.
const FAREWELL: Duration = Duration::from_secs(2);

const SHUT_DOWN: &str = "the host has been shut down";

impl LoadedSoFar {
    /// Takes over what was found.
    fn take(&mut self, found: Found, base: &std::sync::Mutex<Engine>) {
        self.catalog = Arc::new(found.catalog);
        self.known = found.known;
        self.places = found.places;
        *base.lock().unwrap_or_else(PoisonError::into_inner) = found.base;
    }
}

impl Host {
    /// A host with this configuration.
    pub fn new(config: Config) -> Host {
        Host::with(config, Setup::lasting())
    }

    /// Starts to describe a host with more than a configuration.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// A host that ends after one call: a preview of a tool could never be applied.
    pub(crate) fn for_one_call(config: Config) -> Host {
        Host::with(config, Setup::default())
    }

    /// A host for one test of tools: `tape` stands between them and the world, `env` is what is
    /// different from the process's environment.
    pub(crate) fn for_trial(
        config: Config,
        tape: Option<Arc<dyn Tape>>,
        env: BTreeMap<String, Option<String>>,
    ) -> Host {
        let mut setup = Setup::lasting();
        setup.world.tape = tape;
        setup.world.env = env;
        Host::with(config, setup)
    }

    /// A host that loads files of a trusted project which are not trusted themselves, and notes them.
    pub(crate) fn learning(config: Config) -> Host {
        let mut setup = Setup::default();
        setup.world.is_learning = true;
        Host::with(config, setup)
    }

    /// The files that modules of the project loaded although they are not trusted, with their digests.
    pub(crate) fn learned(&self) -> BTreeMap<PathBuf, blake3::Hash> {
        self.0.engine.learned()
    }

    fn with(config: Config, setup: Setup) -> Host {
        let Setup { tools, mut world } = setup;
        // A program with such a tool of its own resolves its own previews.
        let has_name = config
            .built_in_tool_names
            .iter()
            .all(|name| name != RESOLVE);
        world.has_later &= has_name;
        // The program's own tools come before the names that nobody may take: they may.
        let mut own = Builder::new(Catalog::default(), &[], &config.rename, &config.approval);
        for (candidate, loaded) in tools {
            own.add(&candidate, loaded);
        }
        let own = own.finish();
        let so_far = LoadedSoFar {
            catalog: Arc::new(own.clone()),
            as_loaded: Arc::new(own.clone()),
            ..LoadedSoFar::default()
        };
        let (default_user, session) = (world.default_user.clone(), world.session.clone());
        let engine = js::engine(&config, world);
        let inner = Inner {
            default_user,
            session,
            base: std::sync::Mutex::new(engine.new_generation()),
            engine,
            resolver: OnceCell::new(),
            place: Arc::new(audit::Place::of(&config)),
            grant: std::sync::Mutex::default(),
            spill: Spill::new(config.state_dir.join("outputs"), config.limits.spill_kb),
            config,
            loaded: Mutex::new(so_far),
            refreshing: Mutex::default(),
            scan: watch::Sender::default(),
            changes: watch::Sender::default(),
            problem_changes: watch::Sender::default(),
            watching: std::sync::Mutex::default(),
            closing: CancellationToken::new(),
            pace: Arc::default(),
            abortable: Abortable::default(),
            own,
        };
        Host(Arc::new(inner), Audience::default())
    }

    /// What runs the modules, with its version.
    pub fn engine_version() -> String {
        engine::version()
    }

    /// The number of threads in the process on which native code of tools that were killed still
    /// computes. V8 cannot stop it; such a thread has the lowest priority.
    pub fn stuck_threads() -> usize {
        Engine::stuck_threads()
    }

    /// What the host goes by.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Asks what runs to stop, kills what has not stopped after the grace period, delivers the end of
    /// the session to tools that heard of its start, which may take as long again (but no more than two
    /// seconds), and ends everything that was started. For good: nothing can be called afterwards.
    pub async fn shutdown(&self) {
        let grace = self.0.config.limits.grace;
        self.shutdown_within(grace + MARGIN, grace.min(FAREWELL))
            .await;
    }

    /// The same; calls may take so long to end, and the end of the session to be delivered.
    pub(crate) async fn shutdown_within(&self, calls: Duration, session: Duration) {
        self.end_calls();
        // Too late or not, the next step waits for nobody.
        let _ = time::timeout(calls, self.0.abortable.ended()).await;
        let _ = time::timeout(session, self.0.engine.end_session()).await;
        self.0.engine.shutdown().await;
    }

    /// Ends everything at once, without asking.
    pub async fn kill(&self) {
        self.end_calls();
        self.0.engine.shutdown().await;
    }

    /// Tells that the program ends after the host: what would only give memory back is left out.
    pub(crate) fn ends_with_program(&self) {
        self.0.engine.ends_with_program();
    }

    /// First the host, then its calls: one that begins in between sees that it must not.
    fn end_calls(&self) {
        self.0.closing.cancel();
        self.0.abortable.end_with_host();
    }

    fn means<'a>(&'a self, engine: &'a Engine) -> Means<'a> {
        Means {
            config: &self.0.config,
            engine,
        }
    }

    /// What loads modules that are new.
    fn base(&self) -> Engine {
        let base = self.0.base.lock();
        base.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn assembly(&self, existing: Catalog) -> Builder<'_> {
        let config = &self.0.config;
        let names = &config.built_in_tool_names;
        Builder::new(existing, names, &config.rename, &config.approval)
    }
}
