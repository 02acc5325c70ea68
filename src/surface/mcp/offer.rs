//! What one catalog offers to MCP clients: tools in a stable order, under names that models take.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use rmcp::model::{JsonObject, MetaObject, Tool as McpTool, ToolAnnotations};
use serde_json::Value;

use super::schema;
use super::selection::Selection;
use crate::dialect::{self, Names};
use crate::registry::Catalog;
use crate::tool::schema::Schema;
use crate::tool::{Problem, Tier, Tool};

/// Where the whole schema of a tool stands that is offered in plainer words.
const WHOLE_SCHEMA: &str = "haft/inputSchema";
/// Where the real name of a tool stands that is offered under an alias.
const REAL_NAME: &str = "haft/name";

/// The tools of one catalog.
pub(super) struct Offer {
    /// In the order of the names that they are offered by.
    pub(super) tools: Vec<Offered>,
    by_name: HashMap<String, usize>,
    /// What cannot be offered, and why.
    pub(super) left_out: Vec<String>,
}

/// One tool.
pub(super) struct Offered {
    /// As it goes over the wire.
    pub(super) listed: McpTool,
    /// The same for clients of the older era, which hand schemas on to providers as they are: no union
    /// at the root. `None`: there is no difference.
    plain: Option<McpTool>,
    /// The name that the host knows.
    pub(super) name: String,
    /// Checks structured results, compiled when the first one comes.
    output: OnceLock<Option<Schema>>,
}

impl Offer {
    /// Everything that `selection` takes and a model may call. What cannot be offered is logged.
    pub(super) fn of(catalog: &Catalog, selection: &Selection) -> Offer {
        let mut seen = HashSet::new();
        let taken = catalog.tools().filter(|tool| {
            let is_open = tool.trusted && !tool.hidden;
            is_open && selection.takes(&tool.name) && seen.insert(&tool.name)
        });
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
        for tool in taken {
            match offered(tool, &names) {
                Ok(offered) => tools.push(offered),
                Err(why) => {
                    tracing::warn!(tool = tool.name, "left out: {why}");
                    left_out.push(format!("the tool \"{}\" is left out: {why}", tool.name));
                }
            }
        }
        tools.sort_by(|a, b| a.listed.name.cmp(&b.listed.name));
        let by_name = tools.iter().enumerate();
        let by_name = by_name.map(|(index, tool)| (tool.listed.name.to_string(), index));
        Offer {
            by_name: by_name.collect(),
            tools,
            left_out,
        }
    }

    /// The tool that a client calls by this name: the one it was listed under, or the real one.
    pub(super) fn find(&self, name: &str) -> Option<&Offered> {
        match self.by_name.get(name) {
            Some(&index) => self.tools.get(index),
            None => self.tools.iter().find(|tool| tool.name == name),
        }
    }

    /// The names that they are offered by.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| &*tool.listed.name)
    }

    /// Whether a client sees no difference.
    pub(super) fn is_like(&self, other: &Offer) -> bool {
        let (own, others) = (self.tools.iter(), other.tools.iter());
        own.map(|tool| &tool.listed)
            .eq(others.map(|tool| &tool.listed))
    }

    /// The tools after the one of that name, or all of them; at most `most`, and the name to go
    /// on after if there are more.
    pub(super) fn page(
        &self,
        after: Option<&str>,
        most: usize,
        is_new: bool,
    ) -> (Vec<McpTool>, Option<&str>) {
        let start = after.map_or(0, |after| {
            self.tools
                .partition_point(|tool| &*tool.listed.name <= after)
        });
        let rest = &self.tools[start..];
        let page: Vec<McpTool> = rest
            .iter()
            .take(most)
            .map(|tool| tool.for_era(is_new).clone())
            .collect();
        let next = match rest.len() > most {
            true => rest.get(most - 1).map(|tool| &*tool.listed.name),
            false => None,
        };
        (page, next)
    }
}

impl Offered {
    fn for_era(&self, is_new: bool) -> &McpTool {
        let plain = self.plain.as_ref().filter(|_| !is_new);
        plain.unwrap_or(&self.listed)
    }

    /// What is wrong with a structured result; nothing where no schema was promised.
    pub(super) fn mismatch(&self, structured: &Value) -> Option<String> {
        let promised = self.listed.output_schema.as_ref()?;
        let compiled = self.output.get_or_init(|| {
            let schema = Value::Object(JsonObject::clone(promised));
            Schema::compile(&schema).ok()
        });
        let mismatches = compiled.as_ref()?.mismatches(structured);
        let lines = mismatches.iter();
        let lines: Vec<String> = lines
            .map(|wrong| format!("  - {}: {}", wrong.path, wrong.message))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// What `haft doctor` says of tools that MCP clients do not get.
pub(crate) fn problems(catalog: &Catalog) -> Vec<Problem> {
    let tools = catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let problems = tools.filter_map(|tool| {
        let why = schema::of_object(&tool.input_schema).err()?;
        let text = format!("\"{}\" is left out for MCP clients: {why}", tool.name);
        let problem = Problem::warning(text).at(&tool.source.path);
        Some(
            problem
                .about(&tool.name)
                .hint("correct the schema of its parameters"),
        )
    });
    problems.collect()
}

fn offered(tool: &Tool, names: &Names) -> Result<Offered, String> {
    let input = schema::of_object(&tool.input_schema)?;
    let name = names.offered(&tool.name).to_owned();
    let mut listed = McpTool::new(name, tool.description.clone(), Arc::new(input));
    if tool.label != tool.name && !tool.label.is_empty() {
        listed = listed.with_title(&tool.label);
    }
    listed = listed.with_annotations(annotations(tool.approval));
    match tool.output_schema.as_ref().map(schema::of_object) {
        Some(Ok(output)) => listed = listed.with_raw_output_schema(Arc::new(output)),
        Some(Err(why)) => tracing::warn!(tool = tool.name, "its output schema is left out: {why}"),
        None => {}
    }
    if listed.name != tool.name {
        let mut meta = MetaObject::new();
        meta.insert(REAL_NAME.to_owned(), tool.name.as_str().into());
        listed = listed.with_meta(meta);
    }
    Ok(Offered {
        plain: plain(tool, &listed),
        listed,
        name: tool.name.clone(),
        output: OnceLock::new(),
    })
}

/// The tool in plainer words, where its schema is a union.
fn plain(tool: &Tool, listed: &McpTool) -> Option<McpTool> {
    let (input, description) = dialect::without_root_union(tool)?;
    let input = schema::of_object(&Value::Object(input)).ok()?;
    let mut meta = listed.meta.clone().unwrap_or_default();
    meta.insert(WHOLE_SCHEMA.to_owned(), tool.input_schema.clone());
    let mut plain = listed.clone();
    plain.input_schema = Arc::new(input);
    plain.description = Some(description.into());
    Some(plain.with_meta(meta))
}

/// Hints for the client's own questions to its user. What a tool that writes destroys is not
/// known, so nothing is said of it, which means that it may.
fn annotations(tier: Tier) -> ToolAnnotations {
    let hints = ToolAnnotations::new();
    match tier {
        Tier::Read => hints.read_only(true),
        Tier::Write => hints.read_only(false).open_world(false),
        Tier::Exec => hints.read_only(false).destructive(true).open_world(true),
    }
}
