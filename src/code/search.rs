//! The tool `search_tools`: its parameters, and its answer as text.

use std::collections::BTreeMap;
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
