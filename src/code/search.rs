//! Search for tools by words: BM25 over names, titles, descriptions and parameters, and the tool
//! `search_tools`.
//!
//! The fields of a tool count differently, as in BM25F: a word of the name counts more than one of
//! the description. The library `bm25` has no fields, and depends on a crate that is not maintained.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::index::Index;
use super::{CodeMode, SEARCH_TOOLS, search_tools};
use crate::host::Host;
use haft_render::text;
use haft_tool::schema::{Schema, object_of};
use haft_tool::{ApprovalRequirement, Call, CallCtx, Outcome, Runner, Tier, Tool};
use haft_tool::{Error, ErrorKind};

/// Number of tools that a search returns by default.
pub(super) const DEFAULT_LIMIT: usize = 8;
/// Maximum number of tools that a search returns.
pub(super) const MAX_LIMIT: usize = 50;
/// Number of names that a group shows.
const NAMES_OF_GROUP: usize = 12;

/// Saturation of repeated words, and weight of the length of a field: the usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Weights of the fields.
const WEIGHTS: [f64; FIELDS] = [12.0, 6.0, 5.0, 2.0];
/// Name, title and keywords, description, parameters.
const FIELDS: usize = 4;

/// Search over a list of tools.
pub(super) struct Engine {
    /// For each word: the tools with it, and how often each field has it.
    words: HashMap<String, Vec<(usize, [f64; FIELDS])>>,
    /// Length of each field of each tool.
    lengths: Vec<[f64; FIELDS]>,
    average: [f64; FIELDS],
}

impl Engine {
    pub(super) fn of<'a>(tools: impl Iterator<Item = &'a Tool>) -> Engine {
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
        Engine {
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

/// Parameters of `search_tools`.
#[derive(Default, Deserialize)]
struct Params {
    #[serde(default)]
    query: String,
    limit: Option<usize>,
    detail: Option<Detail>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Detail {
    Names,
    Types,
}

/// Runner of `search_tools`.
pub(super) struct SearchTools {
    mode: Arc<CodeMode>,
    host: Host,
}

impl SearchTools {
    pub(super) fn new(mode: Arc<CodeMode>, host: Host) -> SearchTools {
        SearchTools { mode, host }
    }
}

#[async_trait]
impl Runner for SearchTools {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        read(call.arguments.get()).map(drop)
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let params = read(call.arguments.get())?;
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(Tier::Read)).await? {
            return Ok(Outcome::not_started(why));
        }
        let started = Instant::now();
        // The newest tools, also for a client that has not read its list again.
        let catalog = self.host.catalog().await;
        let index = self.mode.index(&catalog, &self.host);
        let found = find(&index, &params);
        let mut outcome = Outcome::success(found.text, started.elapsed());
        outcome.details = json!({"tools": found.names, "total": index.len()});
        Ok(outcome)
    }
}

fn read(arguments: &str) -> Result<Params, Error> {
    let raw = serde_json::value::RawValue::from_string(arguments.to_owned());
    let raw = raw.map_err(|error| Error::new(ErrorKind::BadArguments, error.to_string()))?;
    let fields = serde_json::Value::Object(object_of(SEARCH_TOOLS, &raw)?);
    let schema = Schema::compile(&search_tools().input_schema)
        .map_err(|error| Error::new(ErrorKind::Internal, error))?;
    schema.check(SEARCH_TOOLS, &fields)?;
    serde_json::from_value(fields)
        .map_err(|error| Error::new(ErrorKind::BadArguments, error.to_string()))
}

/// Result of a search.
struct Found {
    text: String,
    names: Vec<String>,
}

/// Searches for the JSON of the parameters of `search_tools`.
///
/// # Errors
/// [`ErrorKind::BadArguments`].
pub(super) fn search(index: &Index, params: &str) -> Result<String, Error> {
    Ok(find(index, &read(params)?).text)
}

fn find(index: &Index, params: &Params) -> Found {
    let query = params.query.trim();
    if query.is_empty() {
        return Found {
            text: groups(index),
            names: Vec::new(),
        };
    }
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let mut places = index.search().find(query);
    let count = places.len();
    places.truncate(limit);
    let names: Vec<String> = places.iter().map(|at| index.at(*at).0.to_owned()).collect();
    if places.is_empty() {
        let near = index.nearest(query);
        let hint = if near.is_empty() {
            "Without a query, the search lists the groups.".to_owned()
        } else {
            format!("The nearest names are {}.", near.join(", "))
        };
        let text = format!(
            "No tool of {} has a word of \"{query}\". {hint}",
            index.len()
        );
        return Found { text, names };
    }
    let head = match count - places.len() {
        0 => format!("{count} of {} tools:", index.len()),
        _ => format!("The best {} of {count} tools that match:", places.len()),
    };
    let body = if params.detail == Some(Detail::Names) {
        let lines = places.iter().map(|place| {
            let (name, tool) = index.at(*place);
            line(name, tool)
        });
        lines.collect::<Vec<_>>().join("\n")
    } else {
        index.declarations_of(&places).trim_end().to_owned()
    };
    Found {
        text: format!("{head}\n\n{body}"),
        names,
    }
}

fn line(name: &str, tool: &Tool) -> String {
    match text::first_sentence(&tool.description) {
        sentence if sentence.is_empty() => name.to_owned(),
        sentence => format!("{name}: {sentence}"),
    }
}

/// Returns the groups of tools: by plugin, or by the first word of their names.
fn groups(index: &Index) -> String {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for place in 0..index.len() {
        let (name, tool) = index.at(place);
        let group = match &tool.source.plugin {
            Some(plugin) => text::one_line(plugin),
            None => text::name_prefix(name).to_owned(),
        };
        groups.entry(group).or_default().push(place);
    }
    let (mut lines, mut rest) = (Vec::new(), Vec::new());
    for (group, places) in &groups {
        let names: Vec<&str> = places.iter().map(|place| index.at(*place).0).collect();
        if names.len() == 1 {
            rest.extend(names);
            continue;
        }
        let shown = names[..names.len().min(NAMES_OF_GROUP)].join(", ");
        let more = match names.len().saturating_sub(NAMES_OF_GROUP) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!("{group} ({}): {shown}{more}", names.len()));
    }
    if !rest.is_empty() {
        let shown = rest[..rest.len().min(4 * NAMES_OF_GROUP)].join(", ");
        let more = match rest.len().saturating_sub(4 * NAMES_OF_GROUP) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!("others ({}): {shown}{more}", rest.len()));
    }
    format!("{} tools:\n\n{}", index.len(), lines.join("\n"))
}
