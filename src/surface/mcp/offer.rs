//! What one catalog offers to MCP clients: tools in a stable order, under names that models take.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use rmcp::model::{JsonObject, MetaObject, Tool as McpTool, ToolAnnotations};
use serde_json::Value;
use serde_json::value::RawValue;

use super::schema;
use super::selection::Selection;
use crate::dialect::{self, ForMcp, Names, PropertyNames};
use crate::error::{Error, ErrorKind};
use crate::registry::Catalog;
use crate::tool::schema::{Mismatch, Schema};
use crate::tool::{Block, Outcome, Problem, Tier, Tool};

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
    /// The properties that clients know under another name than the tool.
    names: Option<PropertyNames>,
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
    pub(super) fn page(&self, after: Option<&str>, most: usize) -> (Vec<McpTool>, Option<&str>) {
        let start = after.map_or(0, |after| {
            self.tools
                .partition_point(|tool| &*tool.listed.name <= after)
        });
        let rest = &self.tools[start..];
        let page: Vec<McpTool> = rest
            .iter()
            .take(most)
            .map(|tool| tool.listed.clone())
            .collect();
        let next = match rest.len() > most {
            true => rest.get(most - 1).map(|tool| &*tool.listed.name),
            false => None,
        };
        (page, next)
    }
}

impl Offered {
    /// The arguments of a call as the tool knows them.
    pub(super) fn real_arguments(&self, arguments: Box<RawValue>) -> Box<RawValue> {
        let names = self.names.as_ref();
        let real = names.and_then(|names| names.real_arguments(&arguments));
        real.unwrap_or(arguments)
    }

    /// Rewrites a refusal of arguments with the names that the client knows.
    pub(super) fn in_client_names(&self, ended: Result<Outcome, Error>) -> Result<Outcome, Error> {
        let Some(names) = &self.names else {
            return ended;
        };
        match ended {
            Err(error) if error.kind() == ErrorKind::BadArguments => {
                let renamed = Error::new(error.kind(), names.in_refusal(error.message()));
                Err(match error.hint() {
                    Some(hint) => renamed.with_hint(hint),
                    None => renamed,
                })
            }
            // Some protocols want a refusal as a result.
            Ok(mut outcome) if outcome.is_error => {
                for block in &mut outcome.content {
                    if let Block::Text { text } = block {
                        names.rename_refusal(text);
                    }
                }
                if let Some(Value::String(text)) = outcome.details.get_mut("error") {
                    names.rename_refusal(text);
                }
                Ok(outcome)
            }
            ended => ended,
        }
    }

    /// What is wrong with a structured result; nothing where no schema was promised.
    pub(super) fn mismatch(&self, structured: &Value) -> Option<String> {
        let promised = self.listed.output_schema.as_ref()?;
        let compiled = self.output.get_or_init(|| {
            let schema = Value::Object(JsonObject::clone(promised));
            Schema::compile(&schema).ok()
        });
        let mismatches = compiled.as_ref()?.mismatches(structured);
        let lines: Vec<String> = mismatches.iter().map(Mismatch::line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A tool as clients see it in their list.
pub(crate) struct ListedTool {
    /// The name that the host knows.
    pub(crate) real_name: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    /// The length of the schema as JSON without blanks, in bytes.
    pub(crate) schema_length: usize,
    /// Properties with the names that clients know them by, where those are others.
    pub(crate) aliases: Vec<(String, String)>,
    /// Its own schema is a union at the root.
    pub(crate) is_union: bool,
    pub(crate) has_output_schema: bool,
}

/// Every tool that a client would be offered without a selection.
pub(crate) fn listed(catalog: &Catalog) -> Vec<ListedTool> {
    let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
    let tools = catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let listed = tools.filter_map(|tool| {
        let Offered { listed, names, .. } = offered(tool, &names).ok()?;
        let schema = Value::Object(JsonObject::clone(&listed.input_schema));
        let aliases = names.iter().flat_map(PropertyNames::aliases);
        let unions = ["allOf", "anyOf", "oneOf"];
        Some(ListedTool {
            real_name: tool.name.clone(),
            name: listed.name.into_owned(),
            description: listed.description.unwrap_or_default().into_owned(),
            schema_length: schema.to_string().len(),
            schema,
            aliases: aliases
                .map(|(name, alias)| (name.to_owned(), alias.to_owned()))
                .collect(),
            is_union: unions
                .iter()
                .any(|key| tool.input_schema.get(key).is_some()),
            has_output_schema: listed.output_schema.is_some(),
        })
    });
    listed.collect()
}

/// What `haft doctor` says of tools that MCP clients do not get.
pub(crate) fn problems(catalog: &Catalog) -> Vec<Problem> {
    let tools = catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let problems = tools.filter_map(|tool| {
        let why = input_of(tool).err()?;
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

/// Returns the schema that clients get of the tool's arguments, and what goes with it.
fn input_of(tool: &Tool) -> Result<(JsonObject, ForMcp), String> {
    if let Some(problem) = &tool.schema_problem {
        return Err(problem.clone());
    }
    let offered = dialect::for_mcp(tool).map_err(|finding| finding.text)?;
    Ok((schema::of_object(&offered.schema)?, offered))
}

fn offered(tool: &Tool, names: &Names) -> Result<Offered, String> {
    let (input, offered) = input_of(tool)?;
    let name = names.offered(&tool.name).to_owned();
    let mut listed = McpTool::new(name, offered.description, Arc::new(input));
    if tool.label != tool.name && !tool.label.is_empty() {
        listed = listed.with_title(&tool.label);
    }
    listed = listed.with_annotations(annotations(tool.approval));
    match tool.output_schema.as_ref().map(schema::of_object) {
        Some(Ok(output)) => listed = listed.with_raw_output_schema(Arc::new(output)),
        Some(Err(why)) => tracing::warn!(tool = tool.name, "its output schema is left out: {why}"),
        None => {}
    }
    let mut meta = MetaObject::new();
    if listed.name != tool.name {
        meta.insert(REAL_NAME.to_owned(), tool.name.as_str().into());
    }
    if offered.is_rewritten {
        meta.insert(WHOLE_SCHEMA.to_owned(), tool.input_schema.clone());
    }
    if !meta.is_empty() {
        listed = listed.with_meta(meta);
    }
    Ok(Offered {
        listed,
        names: offered.names,
        name: tool.name.clone(),
        output: OnceLock::new(),
    })
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
