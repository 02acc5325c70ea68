//! The tools that can be called now: an immutable catalog, made anew and swapped whole.
//!
//! First come, first served: a later tool of a taken name is a problem that names both files and
//! the way out, and stops nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::discover::{Candidate, LookedAt};
use crate::error::Error;
use crate::family::Loaded;
use crate::tool::{ApprovalPolicy, Call, Family, Problem, Runner, Test, Tool};

/// Every tool, every problem, and everything that was looked at.
#[derive(Clone, Default)]
pub struct Catalog {
    /// The tools, in the order in which they claimed their names.
    pub entries: Vec<Arc<Entry>>,
    /// What is wrong with what was found.
    pub problems: Vec<Problem>,
    /// Every file that was looked at, for `haft doctor`.
    pub looked_at: Vec<LookedAt>,
    /// The files of those that were not asked what they offer, because it was remembered.
    pub remembered: BTreeSet<PathBuf>,
}

/// One tool and what runs it.
pub struct Entry {
    /// What callers see.
    pub tool: Arc<Tool>,
    /// The file, absolute.
    pub resolved_path: PathBuf,
    pub(crate) runner: Arc<dyn Runner>,
}

impl Entry {
    /// The tests that the tool brings, for [`Host::test`](crate::Host::test).
    pub fn tests(&self) -> Vec<Test> {
        self.runner.tests()
    }

    /// What a call would run, for people, with secrets masked; nothing is started. `None`: tools of
    /// this kind cannot say that.
    ///
    /// # Errors
    /// Those with which the call would not start.
    pub async fn preview(&self, call: &Call) -> Result<Option<String>, Error> {
        self.runner.preview(call).await
    }
}

impl Catalog {
    /// The tool of that name. Kodelet's tools are known without their prefix, too, as long as nobody
    /// has exactly that name.
    pub fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        let named = |name: &str| self.entries.iter().find(|entry| entry.tool.name == name);
        named(name).or_else(|| {
            let is_custom = |entry: &&Arc<Entry>| entry.tool.source.family == Family::Kodelet;
            let bare = name.strip_prefix(PREFIX).and_then(named);
            let bare = bare.filter(is_custom);
            bare.or_else(|| named(&format!("{PREFIX}{name}")).filter(is_custom))
        })
    }

    /// Names that are like `name`, the most alike first; at most three.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let mut scored: Vec<(f64, &str)> = self
            .entries
            .iter()
            .map(|entry| {
                let full = entry.tool.name.as_str();
                // As it may be written; see `find`.
                let bare = full.strip_prefix(PREFIX).unwrap_or(full);
                let likeness = |known| strsim::jaro_winkler(name, known);
                (likeness(full).max(likeness(bare)), full)
            })
            .filter(|(score, _)| *score > ALIKE)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// The catalog with the descriptions that are computed now; the same one if none is.
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

    /// The catalog with one tool more.
    pub(crate) fn with(&self, entry: Arc<Entry>) -> Catalog {
        let mut catalog = self.clone();
        catalog.entries.push(entry);
        catalog
    }

    /// How many tools may be called.
    pub fn usable(&self) -> usize {
        self.tools().filter(|tool| tool.trusted).count()
    }

    /// All tools.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.iter().map(|entry| &*entry.tool)
    }
}

/// What Kodelet puts before the names of custom tools.
const PREFIX: &str = "custom_tool_";

/// Below this similarity (0 to 1) a name is no help.
const ALIKE: f64 = 0.75;

/// Puts a catalog together, one source after another.
pub(crate) struct Builder<'a> {
    catalog: Catalog,
    taken: HashMap<String, Option<PathBuf>>,
    rename: &'a BTreeMap<String, String>,
    policy: &'a ApprovalPolicy,
    used_renames: HashSet<&'a str>,
}

impl<'a> Builder<'a> {
    /// Starts from `existing`; `built_in` names are taken from the start.
    pub(crate) fn new(
        existing: Catalog,
        built_in: &[String],
        rename: &'a BTreeMap<String, String>,
        policy: &'a ApprovalPolicy,
    ) -> Self {
        let mut taken: HashMap<String, Option<PathBuf>> =
            built_in.iter().map(|name| (name.clone(), None)).collect();
        for entry in &existing.entries {
            taken.insert(
                entry.tool.name.clone(),
                Some(entry.tool.source.path.clone()),
            );
        }
        Builder {
            catalog: existing,
            taken,
            rename,
            policy,
            used_renames: HashSet::new(),
        }
    }

    /// Adds what a family made of a candidate; gives what came of it.
    pub(crate) fn add(
        &mut self,
        candidate: &Candidate,
        loaded: Loaded,
    ) -> (Vec<Arc<Entry>>, Vec<Problem>) {
        let (mut entries, mut problems) = (Vec::new(), loaded.problems);
        if loaded.is_remembered {
            self.catalog.remembered.insert(candidate.path.clone());
        }
        for (mut tool, runner) in loaded.tools {
            if let Some(name) = self.renamed(&tool, candidate) {
                Arc::make_mut(&mut tool).name = name;
            }
            // What is refused in any case is no offer to a model.
            if !tool.hidden && self.policy.refusal(&tool, tool.approval).is_some() {
                Arc::make_mut(&mut tool).hidden = true;
            }
            if let Some(holder) = self.taken.get(&tool.name) {
                problems.push(conflict(&tool, holder.as_ref()));
                continue;
            }
            self.taken
                .insert(tool.name.clone(), Some(tool.source.path.clone()));
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

    /// Adds what only stands for a tool: where its name is taken, that is no conflict.
    pub(crate) fn add_if_free(&mut self, candidate: &Candidate, mut loaded: Loaded) {
        loaded
            .tools
            .retain(|(tool, _)| !self.taken.contains_key(&tool.name));
        self.add(candidate, loaded);
    }

    pub(crate) fn finish(mut self) -> Catalog {
        sort_executables(&mut self.catalog.entries);
        self.catalog
    }

    /// The name that the configuration gives: by `path#tool`, by path, or by `provider:tool`.
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
        // One path may hold several tools; a new name goes to the first of them.
        self.used_renames.insert(key.as_str()).then(|| name.clone())
    }
}

/// Executables lie in no order that means anything: theirs is by name, at the places they have.
fn sort_executables(entries: &mut [Arc<Entry>]) {
    for family in [Family::Kodelet, Family::Ikigai] {
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

fn conflict(tool: &Tool, holder: Option<&PathBuf>) -> Problem {
    let text = format!("Tool name \"{}\" conflicts with existing tool", tool.name);
    let path = tool.source.path.display();
    let holder = match holder {
        Some(other) => format!("{} has the name", other.display()),
        None => "a built-in tool has the name".to_owned(),
    };
    Problem::error(text)
        .at(&tool.source.path)
        .about(&tool.name)
        .hint(format!(
            "{holder}; to keep both, put `rename: {{\"{path}#{}\": \"a_new_name\"}}` into the configuration",
            tool.name
        ))
}
