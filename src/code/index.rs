//! The tools that scripts see, by the names that scripts use.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use super::learned::Learned;
use super::search::Engine;
use crate::registry::{Catalog, Entry};
use haft_tool::types::{self, ScriptTool, script_identifier};
use haft_tool::{Tool, similarity};

/// Lowest similarity of a name that an unknown one suggests.
const MIN_SIMILARITY: f64 = 0.5;
/// Number of names that an unknown one suggests.
const SUGGESTIONS: usize = 3;

/// The tools that scripts see.
pub(crate) struct Index {
    /// Sorted by name.
    entries: Vec<Arc<Entry>>,
    /// The name of each tool in declarations: an identifier where no other tool has it.
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    learned: Learned,
    search: OnceLock<Engine>,
}

impl Index {
    /// Collects the trusted tools that models may call and that `sees` includes.
    pub(super) fn of(catalog: &Catalog, sees: &dyn Fn(&Tool) -> bool, learned: Learned) -> Index {
        let mut by_real: BTreeMap<&str, &Arc<Entry>> = BTreeMap::new();
        for entry in &catalog.entries {
            let tool = &entry.tool;
            let is_callable = tool.trusted && !tool.hidden && tool.schema_problem.is_none();
            if is_callable && sees(tool) {
                by_real.entry(&tool.name).or_insert(entry);
            }
        }
        let entries: Vec<Arc<Entry>> = by_real.into_values().cloned().collect();
        // Real names first: an identifier never takes the name of another tool.
        let real = entries.iter().enumerate();
        let real = real.map(|(place, entry)| (entry.tool.name.clone(), place));
        let mut by_name: HashMap<String, usize> = real.collect();
        let mut names = Vec::with_capacity(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            let name = script_identifier(&entry.tool.name);
            let holder = *by_name.entry(name.clone()).or_insert(place);
            names.push(if holder == place {
                name
            } else {
                entry.tool.name.clone()
            });
        }
        Index {
            entries,
            names,
            by_name,
            learned,
            search: OnceLock::new(),
        }
    }

    /// Returns the number of tools.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the names that scripts use, in the order of the real names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns the tools, in the same order.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.iter().map(|entry| &*entry.tool)
    }

    /// Returns the tool of this name, real or as an identifier.
    ///
    /// # Errors
    /// A sentence with the nearest names.
    pub(crate) fn require(&self, name: &str) -> Result<&Arc<Entry>, String> {
        match self.by_name.get(name) {
            Some(place) => Ok(&self.entries[*place]),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let shown: String = name.chars().take(100).collect();
        let near = self.nearest(name);
        if near.is_empty() {
            format!("there is no tool `{shown}`; `await tools.$search(\"words\")` finds tools")
        } else {
            format!(
                "there is no tool `{shown}`; the nearest are {}",
                near.join(", ")
            )
        }
    }

    /// Returns the names that are most similar to `name`, the best first.
    pub(super) fn nearest(&self, name: &str) -> Vec<&str> {
        // Comparing takes the product of the lengths.
        let name: String = name.chars().take(100).collect();
        let scored = self.names().map(|known| (similarity(&name, known), known));
        let mut scored: Vec<_> = scored
            .filter(|(score, _)| *score >= MIN_SIMILARITY)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = scored.into_iter().take(SUGGESTIONS);
        near.map(|(_, name)| name).collect()
    }

    /// Returns the declarations of all tools.
    pub(crate) fn declarations(&self) -> String {
        let all: Vec<usize> = (0..self.len()).collect();
        types::script(&self.declared(&all))
    }

    /// Returns the declarations of the tools at these places.
    pub(super) fn declarations_of(&self, places: &[usize]) -> String {
        types::script(&self.declared(places))
    }

    /// Returns the declaration of one tool.
    pub(super) fn declaration(&self, name: &str) -> Result<String, String> {
        match self.by_name.get(name) {
            Some(place) => Ok(self.declarations_of(&[*place])),
            None => Err(self.unknown(name)),
        }
    }

    /// Returns a declaration file for editors.
    pub(crate) fn declaration_file(&self) -> String {
        let all: Vec<usize> = (0..self.len()).collect();
        types::script_file(&self.declared(&all))
    }

    fn declared(&self, places: &[usize]) -> Vec<ScriptTool<'_>> {
        let tool = |place: &usize| {
            let tool = &*self.entries[*place].tool;
            ScriptTool {
                name: &self.names[*place],
                tool,
                observed: self.learned.result_of(&tool.name),
            }
        };
        places.iter().map(tool).collect()
    }

    /// Returns the name at this place, as scripts use it, and the tool.
    pub(super) fn at(&self, place: usize) -> (&str, &Tool) {
        (&self.names[place], &self.entries[place].tool)
    }

    /// Returns the search over these tools.
    pub(super) fn search(&self) -> &Engine {
        self.search.get_or_init(|| Engine::of(self.tools()))
    }
}
