//! Catalog of all tools: the first use searches all places, loads what is new or changed, and merges
//! the results. The tool of a name in it, and the tool that resolves pending actions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::Host;
use super::call_log::{defect, shut_down};
use super::load_state::{
    Group, KnownFiles, LoadState, LoadedModule, Plan, ReloadScope, Stamps, Why, group_of, key_of,
    plan,
};
use super::reach::ReachableTool;
use super::refresh::{Found, Search};
use crate::family::js::{self, RESOLVE};
use crate::family::{self, Loaded};
use crate::registry::{Catalog, Entry};
use crate::trust::{self, Doubted, Judged};
use haft_config::Config;
use haft_discover::{Candidate, Scan};
use haft_engine::Engine;
use haft_tool::{Cancellation, Family, Problem, Source};
use haft_tool::{Error, ErrorKind};

impl Host {
    /// Returns all tools. The first call finds and loads them. Later calls only compute
    /// descriptions anew. After a shutdown it returns the last known tools.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.wait_for_program_tools().await;
        let mut loaded = self.inner.loaded.lock().await;
        if self.inner.closing.is_cancelled() {
            return loaded.catalog.clone();
        }
        if !loaded.is_scanned {
            let (given, known) = (loaded.given.clone(), loaded.known.clone());
            let search = Search::start(&self.inner.scan);
            let found = self.load_all(given, known, Why::First).await;
            search.end(&found);
            loaded.take(found, &self.inner.base);
            loaded.loaded_catalog = loaded.catalog.clone();
            loaded.is_scanned = true;
        } else {
            loaded.catalog = loaded.catalog.refreshed().await;
        }
        let catalog = loaded.catalog.clone();
        drop(loaded);
        if !self.inner.engine.has_pending() {
            return catalog;
        }
        match self.resolver().await {
            Some(resolver) => Arc::new(catalog.with(resolver)),
            None => catalog,
        }
    }

    /// Returns the catalog for calls, if it is known without waiting.
    pub(crate) fn known_catalog(&self) -> Option<Arc<Catalog>> {
        let loaded = self.inner.loaded.try_lock().ok()?;
        loaded.is_scanned.then(|| loaded.catalog.clone())
    }

    /// Returns the catalog for calls. It does not ask tools for descriptions that they compute.
    pub(crate) async fn catalog_for_calls(&self) -> Arc<Catalog> {
        let loaded = self.inner.loaded.lock().await;
        if loaded.is_scanned {
            return loaded.catalog.clone();
        }
        drop(loaded);
        // Boxed, because a call that finds the tools loaded does not need the room of this future.
        Box::pin(self.catalog()).await
    }

    /// Returns the description of the newest action that waits to be applied or discarded with the
    /// tool `resolve`.
    pub fn newest_pending(&self) -> Option<String> {
        self.inner.engine.newest_pending()
    }

    /// Disables pending actions if a tool has the name of the one that resolves them, and adds a
    /// problem. The other tool keeps the name, because it was first.
    pub(super) fn without_rival(&self, mut catalog: Catalog) -> Catalog {
        if let Some(rival) = catalog.find(RESOLVE) {
            self.inner.engine.disable_pending_actions();
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

    /// Returns the tool that resolves pending actions.
    pub(super) async fn resolver(&self) -> Option<Arc<Entry>> {
        let engine = &self.inner.engine;
        let made = self.inner.resolver.get_or_try_init(async || {
            let (tool, runner) = js::resolver(engine).await.ok_or(())?;
            let resolved_path = tool.source.path.clone();
            Ok::<_, ()>(Arc::new(Entry {
                tool: Arc::new(tool),
                resolved_path,
                runner,
            }))
        });
        made.await.ok().cloned()
    }

    /// Returns the tool of that name; `None` if the call is cancelled before the tool is known. The
    /// tools go on loading then, because the next call needs them.
    pub(super) async fn entry_unless(
        &self,
        name: &str,
        cancellation: &Cancellation,
    ) -> Option<Result<ReachableTool, Error>> {
        let (host, tool) = (self.clone(), name.to_owned());
        let entry = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = host.inner.closing.cancelled() => Err(shut_down()),
                entry = host.entry(&tool) => entry,
            }
        });
        tokio::select! {
            biased;
            () = cancellation.requested() => None,
            entry = entry => Some(entry.unwrap_or_else(|_| Err(defect()))),
        }
    }

    /// Returns the tool of that name.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTool`], also if it does not exist for the caller of the handle.
    pub(super) async fn entry(&self, name: &str) -> Result<ReachableTool, Error> {
        if self.inner.closing.is_cancelled() {
            return Err(shut_down());
        }
        if let Some(own) = self.handle_tool(name) {
            return Ok(own);
        }
        let catalog = self.catalog_for_calls().await;
        let mut found = catalog.find(name).cloned();
        if found.is_none() && name == RESOLVE && self.inner.engine.offers_pending() {
            found = self.resolver().await;
        }
        if let Some(tool) = found.and_then(|found| self.reach(&found)) {
            return Ok(tool);
        }
        if !self.scope().is_unlimited() {
            return Err(no_such_tool(name, &[]));
        }
        let error = no_such_tool(name, &catalog.suggest(name));
        Err(if catalog.entries.is_empty() {
            error.with_hint("no tools were found; `haft doctor` shows where haft looked")
        } else {
            error
        })
    }
}

/// Returns the error of a tool that is unknown, or that its caller may not see: nothing tells the one
/// from the other. `similar` are the names that may be meant.
pub(crate) fn no_such_tool(name: &str, similar: &[&str]) -> Error {
    // The wording is oh-my-pi's (spec omp 7).
    let suffix = match similar {
        [] => String::new(),
        [one] => format!(". Did you mean {one}?"),
        several => format!(". Closest available: {}", several.join(", ")),
    };
    let text = format!("Tool {name} not found{suffix}");
    Error::new(ErrorKind::NoSuchTool, text)
}

/// Result of a search before anything is loaded.
struct Looked {
    scan: Scan,
    judged: Judged,
    known: LoadState,
    plan: Plan,
    groups: BTreeMap<Group, Files>,
}

/// The files of one group as they are now.
struct Files {
    candidates: Vec<Candidate>,
    stamps: Stamps,
    is_known: bool,
}

impl Host {
    /// Searches all places and loads what `known` does not hold. The candidates that were `given`
    /// by name come first.
    pub(super) async fn load_all(
        &self,
        given: Vec<Candidate>,
        known: LoadState,
        why: Why,
    ) -> Found {
        let (config, base) = (self.config_for_rights(), self.base());
        let upstream = self.inner.connections.version();
        let (before, by_name) = (known.clone(), given.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let looked = look(known, &by_name, &config, &base, why, upstream);
            let grant = trust::grant_hash(&config);
            (looked, grant)
        })
        .await;
        let is_complete = looked.is_ok();
        let looked = looked.map(|(looked, grant)| {
            self.judged_by(grant);
            looked
        });
        let mut looked = looked.unwrap_or_else(|error| {
            // Tools that were not checked must not run.
            let text = format!("the tools could not be looked at: {error}");
            let mut scan = Scan::default();
            scan.problems.push(Problem::error(text));
            Looked::nothing(scan, before)
        });
        let base = self.base();
        base.trust(looked.judged.verified.clone());
        let engine = match looked.plan.place {
            ReloadScope::SameGeneration => base.clone(),
            ReloadScope::NewGeneration | ReloadScope::Everything => base.new_generation(),
        };
        let base = match looked.plan.place {
            ReloadScope::Everything => engine.clone(),
            ReloadScope::SameGeneration | ReloadScope::NewGeneration => base,
        };
        self.load_into(&engine, &given, &mut looked, why).await;
        self.describe_untrusted(&mut looked.judged.doubted).await;
        let (catalog, own_version) = self.put_together(&given, &looked);
        Found {
            catalog,
            own_version,
            base,
            places: looked.scan.places,
            known: looked.known,
            is_complete,
        }
    }

    /// Returns the files that would be loaded, in this order. It includes those that may not run,
    /// and the files that replace them. Reads files; runs nothing.
    pub(crate) async fn files_to_load(&self) -> Result<Vec<(PathBuf, Source)>, Error> {
        let (scan, _) = look_at_files(Arc::new(self.inner.config.clone())).await?;
        let files = scan
            .candidates
            .into_iter()
            .map(|found| (found.path, found.source));
        Ok(files.collect())
    }

    /// Loads the modules and files of the plan.
    async fn load_into(&self, engine: &Engine, given: &[Candidate], looked: &mut Looked, why: Why) {
        let mut wanted: Vec<Candidate> = Vec::new();
        let mut is_wanted = std::mem::take(&mut looked.plan.loads);
        let mut graphs = BTreeMap::new();
        for candidate in given.iter().chain(&looked.judged.trusted) {
            let key = key_of(candidate);
            if candidate.source.family == Family::Js
                && let Some(graph) = is_wanted.remove(&key)
            {
                graphs.insert(key, graph);
                engine.forget_granted(&candidate.resolved);
                wanted.push(candidate.clone());
            }
        }
        let modules = wanted.len();
        let groups = looked.groups.values().filter(|files| !files.is_known);
        wanted.extend(groups.flat_map(|files| files.candidates.iter().cloned()));
        let since = SystemTime::now();
        let config = self.config_for_rights();
        let means = self.means(engine, &config);
        let mut loaded = family::load(&means, &self.inner.connections, &wanted).await;
        let mut others = loaded.split_off(modules).into_iter();
        for (candidate, loaded) in wanted.iter().zip(loaded) {
            let key = key_of(candidate);
            let before = looked.known.modules.get(&key);
            let mut module = LoadedModule::new(loaded, since, engine, before);
            if let Some(graph) = graphs.remove(&key).flatten() {
                module.reads(graph);
            }
            looked.known.modules.insert(key, module);
        }
        for (group, files) in &mut looked.groups {
            if files.is_known {
                continue;
            }
            let loaded: Vec<Loaded> = others.by_ref().take(files.candidates.len()).collect();
            let candidates: Vec<_> = files.candidates.iter().collect();
            let stamps = std::mem::take(&mut files.stamps);
            let before = looked.known.others.get(group);
            let files = KnownFiles::new(&candidates, stamps, loaded, before, why);
            looked.known.others.insert(*group, files);
        }
    }

    /// Returns the catalog, and the version of the program's own tools in it.
    fn put_together(&self, given: &[Candidate], looked: &Looked) -> (Catalog, u64) {
        let (mut start, own_version) = self.catalog_of_given(given, &looked.known);
        start
            .problems
            .extend(self.inner.config.problems.iter().cloned());
        start.problems.extend(self.problems_of_rights());
        start.problems.extend(self.problems_of_watching());
        start.problems.extend(looked.scan.problems.iter().cloned());
        start
            .looked_at
            .extend(looked.scan.looked_at.iter().cloned());
        start
            .problems
            .extend(looked.judged.problems.iter().cloned());
        let mut builder = self.assembly(start);
        let mut shares = Shares::new(&looked.known, false);
        // A tool that may not run must not take a name from one that may.
        for candidate in &looked.judged.trusted {
            builder.add(candidate, shares.of(candidate));
        }
        for Doubted {
            candidate,
            doubt,
            described,
        } in &looked.judged.doubted
        {
            builder.add_if_free(
                candidate,
                trust::untrusted(candidate, doubt, described, &self.inner.config),
            );
        }
        (self.without_rival(builder.finish()), own_version)
    }

    /// Returns the catalog with only the program's own tools and those loaded by name, and the
    /// version of the former.
    pub(super) fn catalog_of_given(
        &self,
        given: &[Candidate],
        known: &LoadState,
    ) -> (Catalog, u64) {
        let own = self.inner.own.lock().clone();
        let mut builder = self.assembly(own.catalog);
        let mut shares = Shares::new(known, true);
        for candidate in given {
            builder.add(candidate, shares.of(candidate));
        }
        (builder.finish(), own.version)
    }
}

impl Looked {
    fn nothing(scan: Scan, known: LoadState) -> Looked {
        Looked {
            scan,
            known,
            judged: Judged::default(),
            plan: Plan::nothing(),
            groups: BTreeMap::new(),
        }
    }
}

/// Searches all places, and judges the found files. Reads files; runs nothing.
pub(super) async fn look_at_files(config: Arc<Config>) -> Result<(Scan, Judged), Error> {
    let looked = tokio::task::spawn_blocking(move || trust::look(&config));
    looked.await.map_err(|error| {
        let text = format!("the tools could not be looked at: {error}");
        Error::new(ErrorKind::Internal, text)
    })
}

/// Searches all places, compares the found files with the loaded ones, and decides which to load.
/// `upstream` is the version of what is known of MCP servers and other hosts, before the comparison.
/// Reads and parses files; runs nothing.
fn look(
    mut known: LoadState,
    given: &[Candidate],
    config: &Config,
    base: &Engine,
    why: Why,
    upstream: u64,
) -> Looked {
    let (scan, judged) = trust::look(config);
    let found = given.iter().map(|candidate| (candidate, true));
    let found = found.chain(judged.trusted.iter().map(|candidate| (candidate, false)));
    let (mut modules, mut groups) = (Vec::new(), BTreeMap::<Group, Vec<&Candidate>>::new());
    for (candidate, is_given) in found {
        match group_of(candidate, is_given) {
            Some(group) => groups.entry(group).or_default().push(candidate),
            None => modules.push(candidate),
        }
    }
    let rights_of = |candidates: &[&Candidate]| family::rights_of(config, candidates);
    let plan = plan(&mut known, &modules, rights_of, base, why);
    known.others.retain(|group, _| groups.contains_key(group));
    let files = groups.into_iter().map(|(group, candidates)| {
        let (is_given, _) = group;
        // A requested refresh runs the executables again for their descriptions.
        let may_stay = |known: &KnownFiles| match why {
            Why::Files => true,
            Why::Late => is_given || !known.is_late(),
            Why::First | Why::Requested => is_given,
        };
        let stamps = Stamps::of(&candidates, upstream);
        let files = Files {
            is_known: known.others.get(&group).is_some_and(|known| {
                may_stay(known) && known.is_still(&stamps, &rights_of(&candidates))
            }),
            stamps,
            candidates: candidates.into_iter().cloned().collect(),
        };
        (group, files)
    });
    Looked {
        groups: files.collect(),
        scan,
        judged,
        known,
        plan,
    }
}

/// Distributes the loaded tools to the candidates, in their order.
struct Shares<'a> {
    known: &'a LoadState,
    are_given: bool,
    next: BTreeMap<Group, usize>,
}

impl<'a> Shares<'a> {
    fn new(known: &'a LoadState, are_given: bool) -> Shares<'a> {
        Shares {
            known,
            are_given,
            next: BTreeMap::new(),
        }
    }

    fn of(&mut self, candidate: &Candidate) -> Loaded {
        let Some(group) = group_of(candidate, self.are_given) else {
            let module = self.known.modules.get(&key_of(candidate));
            return module.map_or_else(Loaded::default, |module| module.offered.clone());
        };
        let next = self.next.entry(group).or_default();
        let loaded = self.known.others.get(&group);
        let loaded = loaded.and_then(|files| files.loaded().get(*next).cloned());
        *next += 1;
        loaded.unwrap_or_default()
    }
}
