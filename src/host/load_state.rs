//! Loaded modules and files with their versions, and the decision which have to be loaded again, and
//! into which generation.
//!
//! An unchanged module stays where it is, with its state and everything that it has started. A
//! changed module is loaded into a fresh isolate, since V8 never forgets an imported file. The same
//! holds for a module whose rights have changed, since an isolate keeps those that it began with. Other
//! modules may notice the change (a helper that both import, the globals). In that case all are
//! loaded anew together, as after a restart of the program.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::family::Loaded;
use haft_discover::Candidate;
use haft_engine::graph::{Checker, Graph, Grapher, on_deep_stack};
use haft_engine::{CodeSet, Engine, Module};
use haft_tool::{Family, Problem, Severity, ToolRights, TrustDomain};

/// Reason of a search for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// First search: modules that were just loaded by name are still current.
    First,
    /// Request of the user or a caller: failed modules are tried again, executables are asked
    /// again.
    Requested,
    /// Changed files: unchanged ones are left alone.
    Files,
    /// Executables that did not describe themselves in time: they are asked again.
    Late,
}

/// Key of a module. A file in two trust domains is two modules.
pub(super) type Key = (PathBuf, Option<String>, TrustDomain);

/// Group of files: those of one family, or of two that depend on each other. The flag is true if
/// they were loaded by name.
pub(super) type Group = (bool, u8);

/// All loaded modules and files.
#[derive(Clone, Default)]
pub(super) struct LoadState {
    pub(super) modules: HashMap<Key, LoadedModule>,
    pub(super) others: HashMap<Group, KnownFiles>,
    /// True if the base generation has imported a file that was changed or removed since.
    pub(super) base_is_stale: bool,
}

/// A module that was loaded, or that failed to load.
#[derive(Clone)]
pub(super) struct LoadedModule {
    /// The tools that it offers. A broken file goes on offering those of its last good version.
    pub(super) offered: Loaded,
    /// True if the file cannot be loaded as it is.
    pub(super) is_broken: bool,
    /// Generation that it was loaded into.
    pub(super) engine: Engine,
    /// Files that its import reads; `None` until a comparison needs them.
    pub(super) graph: Option<Arc<Graph>>,
    /// Start of its load.
    since: SystemTime,
}

/// Files of a group, which a family loads together, because they can override each other.
#[derive(Clone, Default)]
pub(super) struct KnownFiles {
    stamps: Stamps,
    loaded: Vec<Loaded>,
}

/// Versions of the files of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps {
    files: Vec<(PathBuf, Option<Stamp>)>,
    /// Version of what is known of MCP servers, if a file has some.
    upstream: Option<u64>,
}

/// Identity and version of a file on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Maximum delay of a file system's clock.
const LAG: Duration = Duration::from_millis(10);

/// Hint for a broken file whose tools are still offered.
const LAST_GOOD: &str = "its last good version stays in use until it can be loaded";

pub(super) fn key_of(candidate: &Candidate) -> Key {
    (
        candidate.resolved.clone(),
        candidate.query.clone(),
        candidate.trust_domain(),
    )
}

/// Returns the group of a file; `None` for a module.
pub(super) fn group_of(candidate: &Candidate, is_given: bool) -> Option<Group> {
    let number = match candidate.source.family {
        Family::Js => return None,
        Family::Kodelet => 0,
        Family::Ikigai => 1,
        Family::Shell => 2,
        // Which names a plugin may have depends on whether the built-in tools are wanted.
        Family::Plugin | Family::Native => 3,
        Family::Amp => 4,
        Family::Gemini => 5,
        Family::Mcp => 6,
        Family::Remote => 7,
    };
    Some((is_given, number))
}

impl LoadedModule {
    /// Creates the entry for a load that began at `since`. `before` is the earlier entry of the
    /// file.
    pub(super) fn new(
        mut loaded: Loaded,
        since: SystemTime,
        engine: &Engine,
        before: Option<&LoadedModule>,
    ) -> LoadedModule {
        let is_broken = is_broken(&loaded);
        let last_good = before.filter(|before| {
            let has_tools = !before.offered.tools.is_empty();
            // Its instances have the rights with which it was loaded.
            is_broken && has_tools && before.offered.rights == loaded.rights
        });
        if let Some(last_good) = last_good {
            keep_last_good(&mut loaded, &last_good.offered);
        }
        LoadedModule {
            is_broken,
            engine: last_good.map_or(engine, |good| &good.engine).clone(),
            graph: None,
            since,
            offered: loaded,
        }
    }

    /// Determines the files that its import reads, if they are not known yet.
    pub(super) fn look(&mut self, key: &Key, grapher: &Grapher) {
        if self.graph.is_none() {
            self.reads(grapher.graph(&key.0));
        }
    }

    /// Sets the files that its import reads. A data file counts only if the module read it while it
    /// was loaded: a file that the module writes is not a reason to load it again.
    pub(super) fn reads(&mut self, mut graph: Graph) {
        let module = self.offered.module.as_ref();
        graph
            .assets
            .retain(|path, _| module.is_some_and(|module| module.looked_at(path)));
        self.graph = Some(Arc::new(graph));
    }

    /// Returns true if the files on the disk are not those that were loaded. Requires a call of
    /// [`LoadedModule::look`] before.
    pub(super) fn is_stale(&self, checker: &mut Checker) -> bool {
        let Some(graph) = &self.graph else {
            return false;
        };
        if !checker.holds(graph) {
            return true;
        }
        let imported = self.module().and_then(|module| module.is_of(graph));
        !imported.unwrap_or_else(|| !graph.files.keys().any(|file| self.is_older_than(file)))
    }

    /// Returns true if it was loaded with these rights.
    pub(super) fn has(&self, rights: Option<&ToolRights>) -> bool {
        self.offered.rights.as_ref() == rights
    }

    /// Returns the module, unless the offered tools are those of an earlier file.
    fn module(&self) -> Option<&Module> {
        self.offered.module.as_ref().filter(|_| !self.is_broken)
    }

    fn is_older_than(&self, file: &Path) -> bool {
        let since = self.since.checked_sub(LAG).unwrap_or(self.since);
        let since = since.duration_since(SystemTime::UNIX_EPOCH);
        let Ok(found) = file.metadata() else {
            return true;
        };
        let changed = Duration::new(
            u64::try_from(found.ctime()).unwrap_or_default(),
            u32::try_from(found.ctime_nsec()).unwrap_or_default(),
        );
        since.is_ok_and(|since| changed > since)
    }
}

impl KnownFiles {
    /// Returns true if it was loaded from exactly these files as they are now, with these rights.
    pub(super) fn is_still(&self, stamps: &Stamps, rights: &[Option<ToolRights>]) -> bool {
        let known = self.loaded.iter().map(|loaded| loaded.rights.as_ref());
        self.stamps == *stamps && known.eq(rights.iter().map(Option::as_ref))
    }

    /// Adds a file that was loaded by name.
    pub(super) fn add(&mut self, stamp: (PathBuf, Option<Stamp>), loaded: Loaded) {
        self.stamps.files.push(stamp);
        self.loaded.push(loaded);
    }

    /// Creates the entry of a group's files, whose stamps were taken before the load.
    pub(super) fn new(
        candidates: &[&Candidate],
        stamps: Stamps,
        loaded: Vec<Loaded>,
        before: Option<&KnownFiles>,
        why: Why,
    ) -> KnownFiles {
        let mut loaded = loaded;
        let files = candidates.iter().zip(&stamps.files).zip(&mut loaded);
        for ((candidate, (path, stamp)), loaded) in files {
            let Some((stamp_before, before)) = before.and_then(|before| before.of(path)) else {
                continue;
            };
            let is_kept = match candidate.source.family {
                // An unchanged executable describes the same tools once it has enough time.
                Family::Kodelet | Family::Ikigai | Family::Amp | Family::Gemini => {
                    loaded.was_late && stamp.is_some() && stamp == stamp_before
                }
                // aynd: a requested reload returns what the files say now (spec aynd,
                // `reloadPlugins`).
                Family::Plugin => is_broken(loaded) && why != Why::Requested,
                Family::Shell => is_broken(loaded),
                // What a server offers is kept by its connection.
                Family::Js | Family::Native | Family::Mcp | Family::Remote => false,
            };
            // Its runners have the rights with which it was loaded.
            if is_kept && !before.tools.is_empty() && before.rights == loaded.rights {
                keep_last_good(loaded, before);
            }
        }
        KnownFiles { stamps, loaded }
    }

    /// Returns true if one of them did not describe itself in time.
    pub(super) fn is_late(&self) -> bool {
        self.loaded.iter().any(|loaded| loaded.was_late)
    }

    pub(super) fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    fn of(&self, path: &Path) -> Option<(&Option<Stamp>, &Loaded)> {
        let place = self
            .stamps
            .files
            .iter()
            .position(|(known, _)| known == path)?;
        let (_, stamp) = &self.stamps.files[place];
        Some((stamp, self.loaded.get(place)?))
    }
}

/// Returns true if it offers nothing because of an error.
fn is_broken(loaded: &Loaded) -> bool {
    let is_error = |problem: &Problem| problem.severity == Severity::Error;
    loaded.tools.is_empty() && loaded.problems.iter().any(is_error)
}

fn keep_last_good(loaded: &mut Loaded, before: &Loaded) {
    loaded.tools.clone_from(&before.tools);
    loaded.module.clone_from(&before.module);
    for problem in &mut loaded.problems {
        problem.hint = Some(match problem.hint.take() {
            Some(hint) => format!("{hint}; {LAST_GOOD}"),
            None => LAST_GOOD.to_owned(),
        });
    }
}

/// Returns the stamps of the candidates' files.
pub(super) fn stamps(candidates: &[&Candidate]) -> Vec<(PathBuf, Option<Stamp>)> {
    let stamped = candidates
        .iter()
        .map(|candidate| (candidate.resolved.clone(), Stamp::of(&candidate.resolved)));
    stamped.collect()
}

impl Stamps {
    /// Returns the versions of a group's files. `upstream` is that of what is known of MCP servers and
    /// of other hosts.
    pub(super) fn of(candidates: &[&Candidate], upstream: u64) -> Stamps {
        let mut families = candidates.iter().map(|candidate| candidate.source.family);
        let has_servers = families.any(|family| matches!(family, Family::Mcp | Family::Remote));
        Stamps {
            files: stamps(candidates),
            upstream: has_servers.then_some(upstream),
        }
    }
}

impl Stamp {
    /// Returns the stamp of a file; `None` if it does not exist.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let found = path.metadata().ok()?;
        Some(Stamp {
            file: (found.dev(), found.ino()),
            size: found.size(),
            mode: found.mode(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// Generation into which modules are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadScope {
    /// The base generation, beside the loaded modules.
    SameGeneration,
    /// A new generation beside the base, without observable differences.
    NewGeneration,
    /// A new generation that replaces the base: all modules are loaded again.
    Everything,
}

/// The modules to load, and their generation.
pub(super) struct Plan {
    pub(super) place: ReloadScope,
    /// The modules to load, with the files that their import reads now. These were determined
    /// before the load, so that a change in between is noticed. `None` in a first search.
    pub(super) loads: HashMap<Key, Option<Graph>>,
}

impl Plan {
    /// Returns a plan that loads nothing.
    pub(super) fn nothing() -> Plan {
        Plan {
            place: ReloadScope::SameGeneration,
            loads: HashMap::new(),
        }
    }
}

/// Maximum number of generations beside the base.
const MAX_GENERATIONS: usize = 8;

/// Compares the files with the loaded ones, and decides. `rights_of` returns the rights that files
/// have now. Parses changed files; runs nothing.
pub(super) fn plan(
    known: &mut LoadState,
    modules: &[&Candidate],
    rights_of: impl FnOnce(&[&Candidate]) -> Vec<Option<ToolRights>>,
    base: &Engine,
    why: Why,
) -> Plan {
    let keys = modules.iter().map(|one| key_of(one));
    if why == Why::First {
        let new = keys.filter(|key| !known.modules.contains_key(key));
        return Plan {
            place: ReloadScope::SameGeneration,
            loads: new.map(|key| (key, None)).collect(),
        };
    }
    let keys = keys.zip(rights_of(modules)).collect();
    on_deep_stack(|| compare(known, keys, base, why))
}

/// Determines which of the loaded and of the found modules have to be loaded now.
fn compare(
    known: &mut LoadState,
    keys: BTreeMap<Key, Option<ToolRights>>,
    base: &Engine,
    why: Why,
) -> Plan {
    let count = known.modules.len();
    known.modules.retain(|key, _| keys.contains_key(key));
    known.base_is_stale |= known.modules.len() < count;
    let (grapher, mut checker) = (Grapher::for_untrusted(), Checker::default());
    let mut survey = Survey {
        kept: HashMap::new(),
        loads: HashMap::new(),
    };
    for (key, rights) in keys {
        let Some(module) = known.modules.get_mut(&key) else {
            let graph = grapher.graph(&key.0);
            let kin = vec![CodeSet::of(&graph)];
            survey.loads.insert(key, Load { graph, kin });
            continue;
        };
        module.look(&key, &grapher);
        let is_retried = module.is_broken && why == Why::Requested;
        if module.is_stale(&mut checker) || !module.has(rights.as_ref()) || is_retried {
            survey.load(key, module, &grapher);
        } else {
            survey.keep(key, module);
        }
    }
    let place = survey.place(known, base, &grapher);
    if place == ReloadScope::Everything {
        survey.load_all(known, &grapher);
    }
    known.base_is_stale = match place {
        ReloadScope::Everything => false,
        ReloadScope::NewGeneration => true,
        ReloadScope::SameGeneration => known.base_is_stale,
    };
    Plan {
        place,
        loads: survey.graphs(),
    }
}

/// The modules to keep and the modules to load.
struct Survey {
    kept: HashMap<Key, CodeSet>,
    loads: HashMap<Key, Load>,
}

/// A module to load.
struct Load {
    graph: Graph,
    /// Its code as it is now, and as it was when it was loaded.
    kin: Vec<CodeSet>,
}

impl Survey {
    fn load(&mut self, key: Key, module: &LoadedModule, grapher: &Grapher) {
        let graph = grapher.graph(&key.0);
        let mut kin = vec![CodeSet::of(&graph)];
        kin.extend(module.graph.as_deref().map(CodeSet::of));
        self.kept.remove(&key);
        self.loads.insert(key, Load { graph, kin });
    }

    fn keep(&mut self, key: Key, module: &LoadedModule) {
        if let Some(graph) = &module.graph {
            self.kept.insert(key, CodeSet::of(graph));
        }
    }

    /// Also loads the modules that share a file with one that is loaded again. They would otherwise
    /// see another instance of the file.
    fn load_related(&mut self, known: &LoadState, grapher: &Grapher) {
        loop {
            // Each trust domain has its own instance of a file.
            let is_kin = |(_, _, domain): &Key, kin: &CodeSet| {
                let loads = self.loads.iter().filter(|(key, _)| key.2 == *domain);
                let mut loads = loads.flat_map(|(_, load)| &load.kin);
                loads.any(|loaded| loaded.shares_files_with(kin))
            };
            let kin = self.kept.iter().filter(|(key, kin)| is_kin(key, kin));
            let kin: Vec<Key> = kin.map(|(key, _)| key.clone()).collect();
            if kin.is_empty() {
                return;
            }
            for key in kin {
                match known.modules.get(&key) {
                    Some(module) => self.load(key, module, grapher),
                    None => drop(self.kept.remove(&key)),
                }
            }
        }
    }

    /// Returns the generation for the modules, and adds the modules that have to go with them.
    fn place(&mut self, known: &LoadState, base: &Engine, grapher: &Grapher) -> ReloadScope {
        let is_new = |key: &Key| !known.modules.contains_key(key);
        if self.loads.is_empty() || (!known.base_is_stale && self.loads.keys().all(is_new)) {
            return ReloadScope::SameGeneration;
        }
        self.load_related(known, grapher);
        if self.kept.is_empty() || generations_beside(known, base) >= MAX_GENERATIONS {
            return ReloadScope::Everything;
        }
        let mut kin = self.loads.values().flat_map(|load| &load.kin);
        if kin.all(CodeSet::uses_no_shared_state) {
            ReloadScope::NewGeneration
        } else {
            ReloadScope::Everything
        }
    }

    /// Loads all modules again, except broken ones: without a change they would only fail again.
    fn load_all(&mut self, known: &LoadState, grapher: &Grapher) {
        let kept: Vec<Key> = self.kept.keys().cloned().collect();
        for key in kept {
            if let Some(module) = known.modules.get(&key).filter(|module| !module.is_broken) {
                self.load(key, module, grapher);
            }
        }
    }

    fn graphs(self) -> HashMap<Key, Option<Graph>> {
        let loads = self.loads.into_iter();
        loads.map(|(key, load)| (key, Some(load.graph))).collect()
    }
}

fn generations_beside(known: &LoadState, base: &Engine) -> usize {
    let mut found: Vec<&Engine> = Vec::new();
    for module in known.modules.values() {
        let engine = &module.engine;
        let is_known = |known: &&Engine| known.is_same_generation(engine);
        if !engine.is_same_generation(base) && !found.iter().any(is_known) {
            found.push(engine);
        }
    }
    found.len()
}
