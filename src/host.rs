//! The whole of haft behind one handle: find tools, list them, call them.

mod abort;
mod builder;
mod drawing;
mod known;
mod load;
mod pace;
mod plan;
mod running;
mod sdk;
mod search;
mod watching;

use std::collections::{BTreeMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use serde_json::value::RawValue;
use tokio::sync::{Mutex, OnceCell, RwLock, watch};
use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::discover::{self, Candidate, Places};
use crate::engine::{self, Engine};
use crate::error::{Error, ErrorKind};
use crate::execute::{Spill, Terms, execute};
use crate::family::exec::ikigai;
use crate::family::js::{self, RESOLVE, World};
use crate::family::{self, Means};
use crate::registry::{Builder, Catalog, Entry};
use crate::tool::{
    ApprovalPolicy, Approver, Call, CatalogChange, CurrentSession, DefaultUser, Event, LogListener,
    Outcome, Problem, ScanState, Stopped, Test, UserInterface, queue,
};
use crate::tool::{Models, SessionEvent, SessionProvider, Tape};
use abort::Abortable;
pub use builder::{HostBuilder, TrustPolicy};
use known::{Known, KnownModule, group_of, key_of};
use pace::Pace;
use plan::Why;
pub use running::{Events, RunningCall};
use search::{Found, Search};
pub use watching::{Reload, Watching};

/// A tool host. Cheap to clone; all clones are the same host. Starts nothing before it must.
#[derive(Clone)]
pub struct Host(Arc<Inner>, Audience);

/// Who is behind a handle.
#[derive(Clone, Default)]
struct Audience {
    approver: Option<Arc<dyn Approver>>,
    ui: Option<Arc<dyn UserInterface>>,
    /// What the user allows, where that is not what the configuration says.
    approval: Option<Arc<ApprovalPolicy>>,
    log: Option<Arc<dyn LogListener>>,
}

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
    /// What is wrong with watching files, while somebody wants that.
    watching: std::sync::Mutex<Vec<Problem>>,
    /// Fires when the host shuts down; every call's token is its child.
    closing: CancellationToken,
    /// Every running call reads it, so whoever may write knows that none is left.
    calls: RwLock<()>,
    /// How calls come, to wait for them accordingly.
    pace: Arc<Pace>,
    /// The calls that can be aborted by their ids.
    abortable: Abortable,
    /// The tools of the embedding program, which every catalog begins with.
    own: Catalog,
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

/// What became of paths that were loaded by name.
pub struct Loaded {
    /// The tools that can be called now.
    pub entries: Vec<Arc<Entry>>,
    /// What is wrong with the rest; the message is the loader's exact text.
    pub problems: Vec<Problem>,
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
            spill: Spill::new(config.state_dir.join("outputs"), config.limits.spill_kb),
            config,
            loaded: Mutex::new(so_far),
            refreshing: Mutex::default(),
            scan: watch::Sender::default(),
            changes: watch::Sender::default(),
            watching: std::sync::Mutex::default(),
            closing: CancellationToken::new(),
            calls: RwLock::default(),
            pace: Arc::default(),
            abortable: Abortable::default(),
            own,
        };
        Host(Arc::new(inner), Audience::default())
    }

    /// The same host; calls that are started through this handle ask `approver` where the policy
    /// wants somebody asked. Without one the handle's user interface is asked, and without that such
    /// calls are refused.
    pub fn asking(&self, approver: Arc<dyn Approver>) -> Host {
        let mut host = self.clone();
        host.1.approver = Some(approver);
        host
    }

    /// The same host; the tools of calls that are started through this handle ask and tell `ui`
    /// (`pi.ui`, `ctx.ui`, `hasUI`), whatever other handles do at the same time.
    pub fn with_ui(&self, ui: Arc<dyn UserInterface>) -> Host {
        let mut host = self.clone();
        host.1.ui = Some(ui);
        host
    }

    /// The same host; calls that are started through this handle go by `policy` and not by the
    /// configuration's. What is hidden from lists stays hidden by the latter.
    pub fn with_approval(&self, policy: ApprovalPolicy) -> Host {
        let mut host = self.clone();
        host.1.approval = Some(Arc::new(policy));
        host
    }

    /// The same host; `listener` hears what the tools of calls that are started through this handle log
    /// (`pi.logger`, `console`). The log file gets it in any case.
    pub fn with_log(&self, listener: Arc<dyn LogListener>) -> Host {
        let mut host = self.clone();
        host.1.log = Some(listener);
        host
    }

    /// Whom calls ask whose handle has no [`Host::with_ui`], and modules outside of calls; from now
    /// on, for all handles. `None`: nobody, as in the beginning.
    pub fn set_default_ui(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.0.default_user.set(ui);
    }

    /// What the newest action says of itself that waits to be applied or discarded with the tool
    /// `resolve`.
    pub fn newest_pending(&self) -> Option<String> {
        self.0.engine.newest_pending()
    }

    /// What runs the modules, with its version.
    pub fn engine_version() -> String {
        engine::version()
    }

    /// What the host goes by.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// All tools. The first use looks for them and loads them; later ones give the same catalog.
    /// After a shutdown it is what was known then.
    pub async fn catalog(&self) -> Arc<Catalog> {
        let mut loaded = self.0.loaded.lock().await;
        if self.0.closing.is_cancelled() {
            return loaded.catalog.clone();
        }
        if !loaded.is_scanned {
            let (given, known) = (loaded.given.clone(), loaded.known.clone());
            let search = Search::start(&self.0.scan);
            let found = self.load_all(given, known, Why::First).await;
            search.end(&found);
            loaded.take(found, &self.0.base);
            loaded.as_loaded = loaded.catalog.clone();
            loaded.is_scanned = true;
        } else {
            loaded.catalog = loaded.catalog.refreshed().await;
        }
        let catalog = loaded.catalog.clone();
        drop(loaded);
        if !self.0.engine.has_pending() {
            return catalog;
        }
        match self.resolver().await {
            Some(resolver) => Arc::new(catalog.with(resolver)),
            None => catalog,
        }
    }

    /// The same without asking tools for descriptions that they compute: for calls.
    pub(crate) async fn catalog_for_calls(&self) -> Arc<Catalog> {
        let loaded = self.0.loaded.lock().await;
        if loaded.is_scanned {
            return loaded.catalog.clone();
        }
        drop(loaded);
        // In a box of its own: a call that finds the tools loaded has no use for so much room.
        Box::pin(self.catalog()).await
    }

    /// Loads modules by name and adds their tools to the catalog. Nothing else is looked for.
    pub async fn load_paths(&self, paths: &[String]) -> Loaded {
        if self.0.closing.is_cancelled() {
            let refused = |path: &String| Problem::error(SHUT_DOWN).at(path);
            return Loaded {
                entries: Vec::new(),
                problems: paths.iter().map(refused).collect(),
            };
        }
        let _no_refresh = self.0.refreshing.lock().await;
        let mut loaded_so_far = self.0.loaded.lock().await;
        let scan = discover::given(&self.0.config, paths);
        let mut builder = self.assembly(Catalog::clone(&loaded_so_far.catalog));
        let mut result = Loaded {
            entries: Vec::new(),
            problems: scan.problems,
        };
        let engine = match loaded_so_far.known.is_spoilt {
            false => self.base(),
            true => self.base().new_generation(),
        };
        let (since, candidates) = (SystemTime::now(), scan.candidates);
        let stamps = known::stamps(&candidates.iter().collect::<Vec<_>>());
        let loaded = family::load(&self.means(&engine), &candidates).await;
        for ((candidate, loaded), stamp) in candidates.into_iter().zip(loaded).zip(stamps) {
            let (entries, problems) = builder.add(&candidate, loaded.clone());
            result.entries.extend(entries);
            result.problems.extend(problems);
            let known = &mut loaded_so_far.known;
            match group_of(&candidate, true) {
                Some(group) => known.others.entry(group).or_default().add(stamp, loaded),
                None => {
                    let module = KnownModule::new(loaded, since, &engine, None);
                    known.modules.insert(key_of(&candidate), module);
                }
            }
            loaded_so_far.given.push(candidate);
        }
        loaded_so_far.catalog = Arc::new(self.without_rival(builder.finish()));
        let mut as_loaded = Catalog::clone(&loaded_so_far.as_loaded);
        as_loaded.entries.extend(result.entries.iter().cloned());
        self.swapped(&mut loaded_so_far, as_loaded);
        result
    }

    /// Starts a call. `timeout` overrides the configured one.
    pub fn call(&self, call: Call, timeout: Option<Duration>) -> RunningCall {
        self.start(call, timeout, None)
    }

    /// Starts one of the tests that `entry` brings, under the same rules as a call of it.
    pub fn test(&self, entry: &Entry, test: &Test) -> RunningCall {
        let runs = Entry {
            tool: entry.tool.clone(),
            resolved_path: entry.resolved_path.clone(),
            runner: test.runner.clone(),
        };
        let call = Call {
            id: test.name.clone(),
            tool: entry.tool.name.clone(),
            arguments: RawValue::NULL.to_owned(),
        };
        self.start(call, None, Some(Arc::new(runs)))
    }

    /// `entry`: what runs, where it is not the tool of that name.
    fn start(
        &self,
        call: Call,
        timeout: Option<Duration>,
        entry: Option<Arc<Entry>>,
    ) -> RunningCall {
        let (sender, events) = queue::channel();
        let (cancel, token) = (CancellationToken::new(), self.0.closing.child_token());
        let timeout = timeout.or(self.0.config.limits.call_timeout);
        // A deadline must hold even if nobody looks, and looking for tools takes its time.
        let wants_task = timeout.is_some() || !self.is_scanned();
        let (host, asked) = (self.clone(), cancel.clone());
        let known = abort::Known::new(self, &call.id, &cancel);
        let (pace, runs) = (self.0.pace.clone(), pace::Running::begin(&self.0.pace));
        let running = async move {
            let (_known, _runs) = (known, runs);
            // Pinned first: what wraps it then moves a pointer, and not all that a call holds.
            let running = pin!(host.run(call, entry, timeout, token.clone(), sender));
            // Nothing that a call does unwinds into the program around us.
            let running = AssertUnwindSafe(running).catch_unwind();
            let running = running.map(|ended| ended.unwrap_or_else(|_| Err(defect())));
            tokio::pin!(running);
            let ended = tokio::select! {
                biased;
                ended = &mut running => ended,
                () = asked.cancelled() => {
                    token.cancel();
                    running.await
                }
            };
            if host.0.closing.is_cancelled() && !asked.is_cancelled() {
                by_shutdown(ended)
            } else {
                ended
            }
        };
        RunningCall::start(Box::pin(running), events, cancel, pace, wants_task)
    }

    /// False if it is not known without waiting.
    fn is_scanned(&self) -> bool {
        let loaded = self.0.loaded.try_lock();
        loaded.is_ok_and(|loaded| loaded.is_scanned)
    }

    /// Finds the tool and runs it; `token` ends it.
    async fn run(
        &self,
        call: Call,
        entry: Option<Arc<Entry>>,
        timeout: Option<Duration>,
        token: CancellationToken,
        sender: queue::Sender<Event>,
    ) -> Result<Outcome, Error> {
        let _running = self.0.calls.read().await;
        let entry = match entry {
            Some(entry) => Ok(entry),
            None => tokio::select! {
                biased;
                entry = self.entry(&call.tool) => entry,
                () = token.cancelled() => Err(cancelled_while_loading(&call.tool)),
            },
        };
        let entry = match entry {
            Ok(entry) => tokio::select! {
                biased;
                () = entry.runner.ready() => Ok(entry),
                () = token.cancelled() => Err(cancelled_while_loading(&call.tool)),
            },
            error => error,
        };
        match entry {
            Ok(entry) => {
                let terms = Terms {
                    timeout,
                    cancel: token,
                    policy: self
                        .1
                        .approval
                        .as_deref()
                        .unwrap_or(&self.0.config.approval),
                    approver: self.1.approver.clone(),
                    ui: self.1.ui.clone().or_else(|| self.0.default_user.get()),
                    log: self.1.log.clone(),
                    spill: &self.0.spill,
                };
                execute(&entry.tool, &*entry.runner, call, terms, sender).await
            }
            Err(error) if Box::pin(self.has_departed(&call.tool, &error)).await => {
                sender.send(Event::Finished);
                Ok(ikigai::no_longer_there())
            }
            Err(error) => {
                // Nobody has to listen.
                sender.send(Event::Rejected {
                    text: error.message().to_owned(),
                });
                Err(error)
            }
        }
    }

    /// Checks a call's arguments without running anything.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTool`] or [`ErrorKind::BadArguments`] with every problem in the text.
    pub async fn validate(&self, call: &Call) -> Result<(), Error> {
        self.entry(&call.tool).await?.runner.check(call).await
    }

    /// The conversation that calls belong to, for all handles; `None`: what session events say of it.
    /// Tools that look see it from now on; tell them with [`Host::emit`] what happened.
    pub fn set_session(&self, session: Option<Arc<dyn SessionProvider>>) {
        self.0.session.set(session);
    }

    /// The agent's models, for all handles: `ctx.model` and `ctx.modelRegistry` where the session says
    /// none. Tools that look see them from now on.
    pub fn set_models(&self, models: Models) {
        self.0.session.set_models(models);
    }

    /// Tells every tool's `onSession`, one after another, and waits for them. What they throw is
    /// logged.
    pub async fn emit(&self, event: &SessionEvent) {
        if let Ok(event) = serde_json::value::to_raw_value(event) {
            self.deliver(&event).await;
        }
    }

    /// The same with the JSON of `{event, branch?, entries?}`, as a host in another language says it:
    /// where there is no [`Host::set_session`], tools see its branch and entries from then on.
    pub async fn session_event(&self, event: &RawValue) {
        #[derive(serde::Deserialize)]
        struct Told {
            event: Box<RawValue>,
            branch: Option<Box<RawValue>>,
            entries: Option<Box<RawValue>>,
        }
        let Ok(told) = serde_json::from_str::<Told>(event.get()) else {
            return;
        };
        // What is no list says nothing.
        let list = |json: Option<Box<RawValue>>| -> Option<Vec<Arc<RawValue>>> {
            let entries: Vec<Box<RawValue>> = serde_json::from_str(json?.get()).ok()?;
            Some(entries.into_iter().map(Arc::from).collect())
        };
        self.0.session.tell(list(told.branch), list(told.entries));
        self.deliver(&told.event).await;
    }

    async fn deliver(&self, event: &RawValue) {
        if self.0.closing.is_cancelled() {
            return;
        }
        self.catalog_for_calls().await;
        self.0.engine.session_event(event.get()).await;
    }

    /// Asks what runs to stop, kills what has not stopped after the grace period, and ends
    /// everything that was started. For good: nothing can be called afterwards.
    pub async fn shutdown(&self) {
        self.0.closing.cancel();
        let grace = self.0.config.limits.grace + MARGIN;
        // Too late or not, the next step waits for nobody.
        let _ = time::timeout(grace, self.0.calls.write()).await;
        self.0.engine.shutdown().await;
    }

    /// Ends everything at once, without asking.
    pub async fn kill(&self) {
        self.0.closing.cancel();
        self.0.engine.shutdown().await;
    }

    async fn entry(&self, name: &str) -> Result<Arc<Entry>, Error> {
        if self.0.closing.is_cancelled() {
            return Err(Error::new(
                ErrorKind::Stopped(Stopped::HostShutdown),
                SHUT_DOWN,
            ));
        }
        let catalog = self.catalog_for_calls().await;
        if let Some(entry) = catalog.find(name) {
            return Ok(entry.clone());
        }
        if name == RESOLVE
            && self.0.engine.offers_pending()
            && let Some(resolver) = Box::pin(self.resolver()).await
        {
            return Ok(resolver);
        }
        Err(no_such_tool(name, &catalog))
    }

    /// Says so where a tool has the name of the one that ends pending actions. Its author was
    /// first, so there will be no pending actions.
    fn without_rival(&self, mut catalog: Catalog) -> Catalog {
        if let Some(rival) = catalog.find(RESOLVE) {
            self.0.engine.withhold_pending();
            let problem = js::rival(&rival.tool);
            if !catalog
                .problems
                .iter()
                .any(|known| known.message == problem.message)
            {
                catalog.problems.push(problem);
            }
        }
        catalog
    }

    /// The tool that ends pending actions.
    async fn resolver(&self) -> Option<Arc<Entry>> {
        let engine = &self.0.engine;
        let made = self.0.resolver.get_or_try_init(async || {
            let (tool, runner) = js::resolver(engine).await.ok_or(())?;
            let resolved_path = tool.source.path.clone();
            Ok::<_, ()>(Arc::new(Entry {
                tool,
                resolved_path,
                runner,
            }))
        });
        made.await.ok().cloned()
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

fn defect() -> Error {
    let text = "the call met a defect of haft, or of what the program gave it: it panicked";
    Error::new(ErrorKind::Internal, text)
}

/// What a call came to that was not cancelled for itself.
fn by_shutdown(mut ended: Result<Outcome, Error>) -> Result<Outcome, Error> {
    match &mut ended {
        Ok(outcome) => {
            let stopped = &mut outcome.stopped;
            *stopped = stopped.map(|why| why.max(Stopped::HostShutdown));
            ended
        }
        Err(error) if error.kind() == ErrorKind::Stopped(Stopped::Cancelled) => Err(Error::new(
            ErrorKind::Stopped(Stopped::HostShutdown),
            error.message(),
        )),
        Err(_) => ended,
    }
}

fn cancelled_while_loading(name: &str) -> Error {
    let text = format!("the call of `{name}` was cancelled while the tools were loading");
    Error::new(ErrorKind::Stopped(Stopped::Cancelled), text)
}

fn no_such_tool(name: &str, catalog: &Catalog) -> Error {
    // The words are the original's (spec omp 7).
    let nearest = catalog.nearest(name);
    let suffix = match nearest.as_slice() {
        [] => String::new(),
        [one] => format!(". Did you mean {one}?"),
        several => format!(". Closest available: {}", several.join(", ")),
    };
    let error = Error::new(
        ErrorKind::NoSuchTool,
        format!("Tool {name} not found{suffix}"),
    );
    if catalog.entries.is_empty() {
        error.with_hint("no tools were found; `haft doctor` shows where haft looked")
    } else {
        error
    }
}
