//! Catalog of the callable tools. It is immutable; each change builds a new one and replaces the
//! old one.
//!
//! The first tool of a name keeps it. A later tool of the same name, or of one that looks like it,
//! becomes a problem that names both and a fix; all other tools are loaded as usual.

mod names;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::family::Loaded;
use crate::family::UpstreamServer;
use haft_discover::{Candidate, LookedAt};
use haft_tool::Error;
use haft_tool::{
    ApprovalPolicy, Call, Dialect, Family, MIN_SIMILARITY, Problem, Runner, Test, Tool, ToolRights,
    similarity, with_permit_target,
};
pub(crate) use names::NameRegistry;
pub(crate) use names::{RUN_CODE, SEARCH_TOOLS};

/// The tools of a host, the problems of their files, and every file that was examined.
#[derive(Clone, Default)]
pub struct Catalog {
    /// The tools, in the order in which they claimed their names.
    pub entries: Vec<Arc<Entry>>,
    /// Problems of the files that were found.
    pub problems: Vec<Problem>,
    /// Every examined file, for `haft doctor`.
    pub looked_at: Vec<LookedAt>,
    /// Files whose tools were read from the cache, without loading the file.
    pub remembered: BTreeSet<PathBuf>,
    /// Dialects of the modules that were not written for oh-my-pi.
    pub dialects: BTreeMap<PathBuf, Dialect>,
    /// MCP servers, for what they have besides tools.
    pub(crate) servers: Vec<Arc<UpstreamServer>>,
}

/// One tool with its runner.
pub struct Entry {
    /// The tool as callers see it.
    pub tool: Arc<Tool>,
    /// The file's absolute path.
    pub resolved_path: PathBuf,
    pub(crate) runner: Arc<dyn Runner>,
}

impl Entry {
    /// Returns the tests that the tool contains, for [`Host::test`](crate::Host::test).
    pub fn tests(&self) -> Vec<Test> {
        self.runner.tests()
    }

    /// Returns the rights under which the tool runs, if it has any of its own.
    pub(crate) fn rights(&self) -> Option<ToolRights> {
        self.runner.bounds().map(|bounds| bounds.rights.clone())
    }

    /// Returns the text of what a call would run, for people, with secrets masked. Starts nothing.
    /// `None` if tools of this kind have no preview.
    ///
    /// # Errors
    /// Returns the error with which the call itself would fail to start.
    pub async fn preview(&self, call: &Call) -> Result<Option<String>, Error> {
        self.runner.preview(call).await
    }
}

impl Catalog {
    /// Returns the tool of that name. Tools of a family with a prefix are also found without it, and
    /// tools that were renamed with it, unless another tool has exactly that name.
    pub fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        let named = |name: &str| self.entries.iter().find(|entry| entry.tool.name == name);
        named(name).or_else(|| {
            PREFIXED.into_iter().find_map(|family| {
                let prefix = family.prefix();
                let is_own = |entry: &&Arc<Entry>| entry.tool.source.family == family;
                let bare = name.strip_prefix(prefix).and_then(named);
                let bare = bare.filter(is_own);
                bare.or_else(|| named(&format!("{prefix}{name}")).filter(is_own))
            })
        })
    }

    /// Returns the names that are most similar to `name`, at most three, best first.
    pub fn suggest(&self, name: &str) -> Vec<&str> {
        let mut scored: Vec<(f64, &str)> = self
            .entries
            .iter()
            .map(|entry| {
                let full = entry.tool.name.as_str();
                // `find` accepts the name without the prefix too.
                let prefix = entry.tool.source.family.prefix();
                let bare = full.strip_prefix(prefix).unwrap_or(full);
                (similarity(name, full).max(similarity(name, bare)), full)
            })
            .filter(|(score, _)| *score > MIN_SIMILARITY)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// Returns the catalog with the descriptions computed anew, or the same catalog if none
    /// changed.
    pub(crate) async fn refreshed(self: &Arc<Self>) -> Arc<Catalog> {
        let mut changed: Option<Catalog> = None;
        for (index, entry) in self.entries.iter().enumerate() {
            let Some(description) = entry.runner.current_description().await else {
                continue;
            };
            if description == entry.tool.description {
                continue;
            }
            let entry = Entry {
                tool: Arc::new(Tool {
                    description,
                    ..(*entry.tool).clone()
                }),
                resolved_path: entry.resolved_path.clone(),
                runner: entry.runner.clone(),
            };
            changed.get_or_insert_with(|| Catalog::clone(self)).entries[index] = Arc::new(entry);
        }
        changed.map_or_else(|| self.clone(), Arc::new)
    }

    /// Returns the catalog with one more tool.
    pub(crate) fn with(&self, entry: Arc<Entry>) -> Catalog {
        let mut catalog = self.clone();
        catalog.entries.push(entry);
        catalog
    }

    /// Returns the number of tools that may be called.
    pub fn usable(&self) -> usize {
        self.tools().filter(|tool| tool.trusted).count()
    }

    /// Returns all tools.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.iter().map(|entry| &*entry.tool)
    }
}

/// Families whose tools have a prefix in their names.
const PREFIXED: [Family; 2] = [Family::Kodelet, Family::Amp];

/// Builds a catalog from one source after another.
pub(crate) struct Builder<'a> {
    catalog: Catalog,
    names: NameRegistry,
    rename: &'a BTreeMap<String, String>,
    policy: &'a ApprovalPolicy,
    used_renames: HashSet<&'a str>,
}

impl<'a> Builder<'a> {
    /// Starts with `existing`. The `built_in` names are reserved.
    pub(crate) fn new(
        existing: Catalog,
        built_in: &[String],
        rename: &'a BTreeMap<String, String>,
        policy: &'a ApprovalPolicy,
    ) -> Self {
        let mut names = NameRegistry::new(built_in);
        for entry in &existing.entries {
            names.keep(&entry.tool);
        }
        Builder {
            catalog: existing,
            names,
            rename,
            policy,
            used_renames: HashSet::new(),
        }
    }

    /// Adds the tools and problems that a family loaded from a candidate. Returns the entries that
    /// were added and all problems.
    pub(crate) fn add(
        &mut self,
        candidate: &Candidate,
        loaded: Loaded,
    ) -> (Vec<Arc<Entry>>, Vec<Problem>) {
        let (mut entries, mut problems) = (Vec::new(), loaded.problems);
        if loaded.is_remembered {
            self.catalog.remembered.insert(candidate.path.clone());
        }
        self.catalog.servers.extend(loaded.servers);
        if let Some(dialect) = loaded.dialect {
            self.catalog
                .dialects
                .insert(candidate.path.clone(), dialect);
        }
        for (mut tool, runner) in loaded.tools {
            if let Some(name) = self.renamed(&tool, candidate) {
                Arc::make_mut(&mut tool).name = name;
            }
            // A tool that every call would refuse is not offered to models.
            if !tool.hidden && self.policy.refusal(&tool, tool.approval).is_some() {
                Arc::make_mut(&mut tool).hidden = true;
            }
            if let Err(problem) = self.names.claim(&tool) {
                problems.push(*problem);
                continue;
            }
            let entry = Entry {
                tool,
                resolved_path: candidate.resolved.clone(),
                runner,
            };
            entries.push(Arc::new(entry));
        }
        let source = (!problems.is_empty()).then(|| Arc::new(candidate.source.clone()));
        for problem in &mut problems {
            problem.source = problem.source.take().or_else(|| source.clone());
        }
        self.catalog.entries.extend(entries.iter().cloned());
        self.catalog.problems.extend(problems.iter().cloned());
        (entries, problems)
    }

    /// Adds placeholders for tools. A placeholder whose name is taken is dropped without a
    /// conflict.
    pub(crate) fn add_if_free(&mut self, candidate: &Candidate, mut loaded: Loaded) {
        loaded.tools.retain(|(tool, _)| self.names.is_free(tool));
        self.add(candidate, loaded);
    }

    pub(crate) fn finish(mut self) -> Catalog {
        sort_executables(&mut self.catalog.entries);
        for problem in &mut self.catalog.problems {
            // What could not be loaded has no name that a command would find.
            if let (Some(hint), Some(path)) = (&mut problem.hint, &problem.path) {
                *hint = with_permit_target(hint, &path.display().to_string());
            }
        }
        self.catalog
    }

    /// Returns the name that the configuration gives the tool: by `path#tool`, by path, or by
    /// `provider:tool`.
    fn renamed(&mut self, tool: &Tool, candidate: &Candidate) -> Option<String> {
        if self.rename.is_empty() {
            return None;
        }
        let path = candidate.resolved.display().to_string();
        let keys = [
            format!("{path}#{}", tool.name),
            path,
            candidate.path.display().to_string(),
            format!("{}:{}", tool.source.provider, tool.name),
        ];
        let (key, name) = keys
            .iter()
            .find_map(|key| self.rename.get_key_value(key.as_str()))?;
        // A path can hold several tools; the new name goes to the first of them.
        self.used_renames.insert(key.as_str()).then(|| name.clone())
    }
}

/// Sorts executables by name, within the positions that they have. Their order in a folder has no
/// meaning.
fn sort_executables(entries: &mut [Arc<Entry>]) {
    for family in [Family::Kodelet, Family::Ikigai, Family::Amp] {
        let places: Vec<usize> = (0..entries.len())
            .filter(|&place| entries[place].tool.source.family == family)
            .collect();
        let mut own: Vec<_> = places.iter().map(|&place| entries[place].clone()).collect();
        own.sort_by(|a, b| a.tool.name.cmp(&b.tool.name));
        for (place, entry) in places.into_iter().zip(own) {
            entries[place] = entry;
        }
    }
}
