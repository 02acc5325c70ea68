//! Decides which modules have to be loaded again, and into which generation.
//!
//! An unchanged module stays where it is, with its state and everything that it has started. A
//! changed module is loaded into a fresh isolate, since V8 never forgets an imported file. The same
//! holds for a module whose rights have changed, since an isolate keeps those that it began with. Other
//! modules may notice the change (a helper that both import, the globals). In that case all are
//! loaded anew together, as after a restart of the program.

use std::collections::{BTreeMap, HashMap};

use super::load_state::{Key, LoadState, LoadedModule, Why, key_of};
use haft_discover::Candidate;
use haft_engine::graph::{Checker, Graph, Grapher, on_deep_stack};
use haft_engine::{CodeSet, Engine};
use haft_tool::ToolRights;

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
    rights_of: impl FnOnce(&[&Candidate]) -> Vec<ToolRights>,
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
    keys: BTreeMap<Key, ToolRights>,
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
        if module.is_stale(&mut checker) || !module.has(&rights) || is_retried {
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
