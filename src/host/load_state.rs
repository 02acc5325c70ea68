//! Loaded modules and files with their versions, so that only changed ones are loaded again.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::family::Loaded;
use haft_discover::Candidate;
use haft_engine::graph::{Checker, Graph, Grapher};
use haft_engine::{Engine, Module};
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
    pub(super) fn has(&self, rights: &ToolRights) -> bool {
        self.offered.rights.as_ref() == Some(rights)
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
    pub(super) fn is_still(&self, stamps: &Stamps, rights: &[ToolRights]) -> bool {
        let known = self.loaded.iter().map(|loaded| loaded.rights.as_ref());
        self.stamps == *stamps && known.eq(rights.iter().map(Some))
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
