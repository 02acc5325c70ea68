//! The tools that scripts see, by the names that scripts use, and a search over them by words: BM25
//! over names, titles, descriptions and parameters.
//!
//! The fields of a tool count differently, as in BM25F: a word of the name counts more than one of
//! the description. The library `bm25` has no fields, and depends on a crate that is not maintained.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use super::learned::Learned;
use crate::registry::{Catalog, Entry};
use haft_tool::types::{self, ScriptTool, script_identifier};
use haft_tool::{CallerScope, Tool, similarity};

/// Lowest similarity of a name that an unknown one suggests.
const MIN_SIMILARITY: f64 = 0.5;
/// Number of names that an unknown one suggests.
const SUGGESTIONS: usize = 3;

/// Saturation of repeated words, and weight of the length of a field: the usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Weights of the fields.
const WEIGHTS: [f64; FIELDS] = [12.0, 6.0, 5.0, 2.0];
/// Name, title and keywords, description, parameters.
const FIELDS: usize = 4;

/// The tools that scripts see.
pub(crate) struct Index {
    /// Sorted by name.
    entries: Vec<Arc<Entry>>,
    /// The name of each tool in declarations: an identifier where no other tool has it.
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    learned: Learned,
    search: OnceLock<SearchIndex>,
}

impl Index {
    /// Collects the trusted tools that models may call and that exist for callers with this scope.
    pub(super) fn of(catalog: &Catalog, scope: &CallerScope, learned: Learned) -> Index {
        let mut by_real: BTreeMap<&str, &Arc<Entry>> = BTreeMap::new();
        for entry in &catalog.entries {
            let tool = &entry.tool;
            let is_callable = tool.trusted && !tool.hidden && tool.schema_problem.is_none();
            if is_callable && scope.allows(tool) {
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
    pub(super) fn search(&self) -> &SearchIndex {
        self.search.get_or_init(|| SearchIndex::of(self.tools()))
    }
}

/// Search over a list of tools.
pub(super) struct SearchIndex {
    /// For each word: the tools with it, and how often each field has it.
    words: HashMap<String, Vec<(usize, [f64; FIELDS])>>,
    /// Length of each field of each tool.
    lengths: Vec<[f64; FIELDS]>,
    average: [f64; FIELDS],
}

impl SearchIndex {
    pub(super) fn of<'a>(tools: impl Iterator<Item = &'a Tool>) -> SearchIndex {
        let mut words: HashMap<String, BTreeMap<usize, [f64; FIELDS]>> = HashMap::new();
        let mut lengths = Vec::new();
        for (place, tool) in tools.enumerate() {
            let mut length = [0.0; FIELDS];
            for (field, text) in fields(tool).iter().enumerate() {
                for word in words_of(text) {
                    length[field] += 1.0;
                    let counts = words.entry(word).or_default().entry(place).or_default();
                    counts[field] += 1.0;
                }
            }
            lengths.push(length);
        }
        let mut average = [1.0; FIELDS];
        for (field, average) in average.iter_mut().enumerate() {
            let sum: f64 = lengths.iter().map(|length| length[field]).sum();
            *average = (sum / f64_of(lengths.len().max(1))).max(1.0);
        }
        SearchIndex {
            words: words
                .into_iter()
                .map(|(word, tools)| (word, tools.into_iter().collect()))
                .collect(),
            lengths,
            average,
        }
    }

    /// Returns the places of the tools that have a word of the query, the best first.
    pub(super) fn find(&self, query: &str) -> Vec<usize> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        let count = f64_of(self.lengths.len());
        let mut asked: Vec<String> = words_of(query).collect();
        asked.sort();
        asked.dedup();
        for word in &asked {
            let Some(tools) = self.words.get(word) else {
                continue;
            };
            let with = f64_of(tools.len());
            let rarity = ((count - with + 0.5) / (with + 0.5) + 1.0).ln();
            for (place, counts) in tools {
                let lengths = self.lengths[*place].iter().zip(&self.average);
                let fields = WEIGHTS.iter().zip(counts).zip(lengths);
                let fields = fields.map(|((weight, count), (length, average))| {
                    weight * count / (1.0 - B + B * length / average)
                });
                let weighted: f64 = fields.sum();
                *scores.entry(*place).or_default() += rarity * weighted / (K1 + weighted);
            }
        }
        let mut found: Vec<(usize, f64)> = scores.into_iter().collect();
        // Equal tools keep the order of their names.
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(place, _)| place).collect()
    }
}

fn f64_of(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

fn fields(tool: &Tool) -> [String; FIELDS] {
    let mut parameters = String::new();
    if let Some(properties) = tool.input_schema["properties"].as_object() {
        for (name, schema) in properties {
            let description = schema["description"].as_str().unwrap_or_default();
            parameters.push_str(&format!("{name} {description} "));
        }
    }
    let hint = tool.hints.search_hint.as_deref().unwrap_or_default();
    let plugin = tool.source.plugin.as_deref().unwrap_or_default();
    let keywords = tool.hints.keywords.join(" ");
    [
        tool.name.clone(),
        format!("{} {hint} {keywords} {plugin}", tool.label),
        tool.description.clone(),
        parameters,
    ]
}

/// Returns the words of a text in small letters, without the plural. `gitLog` and `git_log` are two
/// words.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in text.chars() {
        let begins = c.is_uppercase() && was_small;
        if (!c.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(stem(std::mem::take(&mut word)));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase() || c.is_numeric();
    }
    if !word.is_empty() {
        words.push(stem(word));
    }
    words.into_iter()
}

/// Removes the most frequent endings of English, so that `commits` and `commit` are one word.
fn stem(mut word: String) -> String {
    let is_long = word.len() > 3 && word.is_ascii();
    if is_long && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if is_long && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}
