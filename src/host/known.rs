//! What is known of the files that tools came from, so that only what changed is loaded again.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::plan::Why;
use crate::discover::Candidate;
use crate::engine::graph::{Checker, Graph, Grapher};
use crate::engine::{Engine, Module};
use crate::family::Loaded;
use crate::tool::{Family, Problem, Severity, TrustDomain};

/// Identifies a module. A file of two trust domains is two modules.
pub(super) type Key = (PathBuf, Option<String>, TrustDomain);

/// The files of one family, or of two that look at each other; the flag tells that they were loaded
/// by name.
pub(super) type Group = (bool, u8);

/// What is known of all files.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) modules: HashMap<Key, KnownModule>,
    pub(super) others: HashMap<Group, KnownFiles>,
    /// The base generation has imported a file that is not what it was, or not there any more.
    pub(super) is_spoilt: bool,
}

/// A module that was loaded, or could not be.
#[derive(Clone)]
pub(super) struct KnownModule {
    /// What it offers. If the file is broken now, that is what it offered before.
    pub(super) offered: Loaded,
    /// The file could not be loaded as it is.
    pub(super) is_broken: bool,
    /// Where it was loaded.
    pub(super) engine: Engine,
    /// What importing it reads, once somebody wanted to know.
    pub(super) graph: Option<Arc<Graph>>,
    /// When its loading began.
    since: SystemTime,
}

/// Files that a family decides about together: whose name counts, which one overrides another.
#[derive(Clone, Default)]
pub(super) struct KnownFiles {
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    loaded: Vec<Loaded>,
}

/// What tells that a file is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The clock of a file system may be this much behind.
const LAG: Duration = Duration::from_millis(10);

/// What is said of a broken file whose tools are still there.
const LAST_GOOD: &str = "its last good version stays in use until it can be loaded";

pub(super) fn key_of(candidate: &Candidate) -> Key {
    (
        candidate.resolved.clone(),
        candidate.query.clone(),
        candidate.trust_domain(),
    )
}

/// The group of what is no module.
pub(super) fn group_of(candidate: &Candidate, is_given: bool) -> Option<Group> {
    let number = match candidate.source.family {
        Family::Js => return None,
        Family::Kodelet => 0,
        Family::Ikigai => 1,
        Family::Shell => 2,
        // Which names a plugin may have depends on whether the built-in tools are wanted.
        Family::Plugin | Family::Native => 3,
    };
    Some((is_given, number))
}

impl KnownModule {
    /// What a load that began at `since` came to; `before` is what was known of the file.
    pub(super) fn new(
        mut loaded: Loaded,
        since: SystemTime,
        engine: &Engine,
        before: Option<&KnownModule>,
    ) -> KnownModule {
        let is_broken = is_broken(&loaded);
        let last_good = before.filter(|before| is_broken && !before.offered.tools.is_empty());
        if let Some(last_good) = last_good {
            keep_last_good(&mut loaded, &last_good.offered);
        }
        KnownModule {
            is_broken,
            engine: last_good.map_or(engine, |good| &good.engine).clone(),
            graph: None,
            since,
            offered: loaded,
        }
    }

    /// Finds out what importing it reads, if nobody wanted to know before.
    pub(super) fn look(&mut self, key: &Key, grapher: &Grapher) {
        if self.graph.is_none() {
            self.reads(grapher.graph(&key.0));
        }
    }

    /// Takes what importing it reads. Data that it names counts only if it read it while it was
    /// loaded: what it writes is no reason to load it again.
    pub(super) fn reads(&mut self, mut graph: Graph) {
        let module = self.offered.module.as_ref();
        graph
            .assets
            .retain(|path, _| module.is_some_and(|module| module.looked_at(path)));
        self.graph = Some(Arc::new(graph));
    }

    /// Whether what lies on the disk is not what was loaded. It must have been looked at.
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

    /// The module, unless what is offered is that of an earlier file.
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
    /// Whether it was loaded from exactly these files as they are now.
    pub(super) fn is_still(&self, candidates: &[&Candidate]) -> bool {
        self.stamps == stamps(candidates)
    }

    /// Adds a file that was loaded by name.
    pub(super) fn add(&mut self, stamp: (PathBuf, Option<Stamp>), loaded: Loaded) {
        self.stamps.push(stamp);
        self.loaded.push(loaded);
    }

    /// What came of a group's files, whose stamps were taken before.
    pub(super) fn new(
        candidates: &[&Candidate],
        stamps: Vec<(PathBuf, Option<Stamp>)>,
        loaded: Vec<Loaded>,
        before: Option<&KnownFiles>,
        why: Why,
    ) -> KnownFiles {
        let mut loaded = loaded;
        let files = candidates.iter().zip(&stamps).zip(&mut loaded);
        for ((candidate, (path, stamp)), loaded) in files {
            let Some((stamp_before, before)) = before.and_then(|before| before.of(path)) else {
                continue;
            };
            let is_kept = match candidate.source.family {
                // The same file will say the same, once it has the time.
                Family::Kodelet | Family::Ikigai => {
                    loaded.was_late && stamp.is_some() && stamp == stamp_before
                }
                // aynd: who asks for a reload gets what the files say now (spec aynd, `reloadPlugins`).
                Family::Plugin => is_broken(loaded) && why != Why::Asked,
                Family::Shell => is_broken(loaded),
                Family::Js | Family::Native => false,
            };
            if is_kept && !before.tools.is_empty() {
                keep_last_good(loaded, before);
            }
        }
        KnownFiles { stamps, loaded }
    }

    /// Whether one of them did not say in time what it is.
    pub(super) fn is_late(&self) -> bool {
        self.loaded.iter().any(|loaded| loaded.was_late)
    }

    pub(super) fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    fn of(&self, path: &Path) -> Option<(&Option<Stamp>, &Loaded)> {
        let place = self.stamps.iter().position(|(known, _)| known == path)?;
        let (_, stamp) = &self.stamps[place];
        Some((stamp, self.loaded.get(place)?))
    }
}

/// It offers nothing, and not because its author wants it so.
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

/// What tells whether files are others than before.
pub(super) fn stamps(candidates: &[&Candidate]) -> Vec<(PathBuf, Option<Stamp>)> {
    let stamped = candidates
        .iter()
        .map(|candidate| (candidate.resolved.clone(), Stamp::of(&candidate.resolved)));
    stamped.collect()
}

impl Stamp {
    /// `None` where nothing lies.
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
