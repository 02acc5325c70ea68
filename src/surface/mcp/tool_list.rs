//! Tool list of one catalog for MCP clients: tools in a stable order, under names that models
//! accept.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use rmcp::ErrorData;
use rmcp::model::{JsonObject, MetaObject, Tool as McpTool, ToolAnnotations};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::instructions::{self, Summary};
use super::{hints, schema};
use crate::code::{CodeMode, RUN_CODE, SEARCH_TOOLS};
use crate::host::Host;
use crate::registry::Catalog;
use haft_config::{CodeListing, Config, Structured};
use haft_tool::provider_schema::{self, ForMcp, Names, PropertyNames};
use haft_tool::schema::{Mismatch, Schema};
use haft_tool::types::script_identifier;
use haft_tool::{Block, Family, Outcome, Problem, TaskMode, Tier, Tool, suggest};
use haft_tool::{Error, ErrorKind};

/// Key in `_meta` of the complete schema, for a tool that is listed with a simplified one.
const WHOLE_SCHEMA: &str = "haft/inputSchema";
/// Key in `_meta` of the real name, for a tool that is listed under an alias.
const REAL_NAME: &str = "haft/name";
/// Key in `_meta` of a tool and of its results: the server or the other host that their text comes
/// from. Such text is data, and no instruction of haft.
pub(super) const ORIGIN: &str = "haft/origin";

/// Tool list of one catalog.
pub(super) struct ToolList {
    /// Sorted by the listed names.
    pub(super) tools: Vec<OfferedTool>,
    by_name: HashMap<String, usize>,
    /// Messages about the tools that cannot be listed, with the reasons.
    pub(super) left_out: Vec<String>,
    /// The instructions of the server for models.
    pub(super) instructions: Option<String>,
    /// Code mode with all tools of the client, if it is on.
    code: Option<Arc<CodeMode>>,
    /// Names of tools that only scripts call.
    in_code: HashSet<String>,
}

/// Number of tools up to which `code: auto` lists them all.
const MAX_LISTED_BESIDE_CODE: usize = 30;

/// A listed tool.
pub(super) struct OfferedTool {
    /// The definition as it is sent to clients.
    pub(super) listed: McpTool,
    /// Properties whose names differ between the clients and the tool.
    names: Option<PropertyNames>,
    /// The name in the host.
    pub(super) name: String,
    /// The server or the other host that runs the tool, as `_meta` names it.
    pub(super) origin: Option<Value>,
    /// Condition under which a call continues as a task.
    pub(super) task: TaskMode,
    /// Limit of the characters of a result, if the user configured one for this tool.
    pub(super) max_result_chars: Option<u32>,
    /// True if its author declared a schema of its structured results, listed or not.
    pub(super) declares_output: bool,
    /// True if the text of its results is the JSON of their details.
    pub(super) text_repeats_details: bool,
    /// True after the warning that clients hide the text of its results was logged.
    pub(super) is_warned_of: Arc<AtomicBool>,
    /// Validator of structured results, compiled for the first one.
    output: OnceLock<Option<Schema>>,
}

impl ToolList {
    /// Lists all tools that models may call, and that exist for the callers of `host`. Tools that cannot
    /// be listed are logged.
    pub(super) fn of(catalog: &Arc<Catalog>, host: &Host) -> ToolList {
        let config = host.config();
        let mut seen = HashSet::new();
        let taken = catalog.tools().filter(|tool| {
            let is_open = tool.trusted && !tool.hidden;
            is_open && host.scope().allows(tool) && seen.insert(&tool.name)
        });
        let mut taken: Vec<&Tool> = taken.collect();
        let count_of_all = taken.len();
        let code = CodeTools::of(&mut taken, catalog, host);
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
        for tool in taken {
            match offered(tool, &names, config) {
                Ok(offered) => tools.push((offered, tool)),
                Err(why) => {
                    tracing::warn!(tool = tool.name, "left out: {why}");
                    left_out.push(format!("the tool \"{}\" is left out: {why}", tool.name));
                }
            }
        }
        if let Some(code) = &code {
            for tool in &code.tools {
                match offered(tool, &names, config) {
                    Ok(mut offered) => {
                        if tool.name == RUN_CODE {
                            // The calls inside may do anything.
                            offered.listed.annotations = Some(annotations(Tier::Exec));
                        }
                        tools.push((offered, tool));
                    }
                    Err(why) => tracing::warn!(tool = tool.name, "left out: {why}"),
                }
            }
        }
        tools.sort_by(|(a, _), (b, _)| a.listed.name.cmp(&b.listed.name));
        let count = tools.len();
        for (offered, tool) in &mut tools {
            let settings = config.mcp.for_tool(&tool.name);
            offered.tell_hints(hints::meta(tool, &settings, config, count));
        }
        let is_code = |tool: &Tool| code.as_ref().is_some_and(|code| code.has(tool));
        let mut summaries: Vec<Summary> = tools
            .iter()
            .filter(|(_, tool)| !is_code(tool))
            .map(|(offered, tool)| Summary::of(tool, &offered.listed.name))
            .collect();
        let instructions = match &code {
            Some(code) if !code.in_code.is_empty() => {
                let inside = catalog.tools();
                let inside = inside.filter(|tool| code.in_code.contains(&tool.name));
                summaries
                    .extend(inside.map(|tool| Summary::of(tool, &script_identifier(&tool.name))));
                instructions::of_code(&summaries, count_of_all, config)
            }
            _ => instructions::of(&summaries, config),
        };
        let tools: Vec<OfferedTool> = tools.into_iter().map(|(offered, _)| offered).collect();
        let by_name = tools.iter().enumerate();
        let by_name = by_name.map(|(index, tool)| (tool.listed.name.to_string(), index));
        ToolList {
            by_name: by_name.collect(),
            instructions,
            tools,
            left_out,
            in_code: code
                .as_ref()
                .map(|code| code.in_code.clone())
                .unwrap_or_default(),
            code: code.map(|code| code.mode),
        }
    }

    /// Returns the host for a call of the tool: with code mode for its two tools.
    pub(super) fn host_for(&self, host: Host, tool: &str) -> Host {
        match &self.code {
            Some(code) if is_code_tool(tool) => code.on(&host),
            _ => host,
        }
    }

    /// Finds a tool by the name that a client calls: the listed name or the real one.
    pub(super) fn find(&self, name: &str) -> Option<&OfferedTool> {
        match self.by_name.get(name) {
            Some(&index) => self.tools.get(index),
            None => self.tools.iter().find(|tool| tool.name == name),
        }
    }

    /// Returns the tool that a client calls by this name.
    ///
    /// # Errors
    /// If there is none; with the most similar known name.
    pub(super) fn require(&self, name: &str) -> Result<&OfferedTool, ErrorData> {
        self.find(name).ok_or_else(|| {
            if self.in_code.contains(name) {
                let text = format!(
                    "Unknown tool: {name}. It is called inside {RUN_CODE}: `await tools.{}({{…}})`",
                    script_identifier(name)
                );
                return ErrorData::invalid_params(text, None);
            }
            let known = self.tools.iter().map(|tool| &*tool.listed.name);
            let text = match suggest(name, known) {
                Some(known) => format!("Unknown tool: {name}. Did you mean {known}?"),
                None => format!("Unknown tool: {name}"),
            };
            ErrorData::invalid_params(text, None)
        })
    }

    /// Copies the warning state of an earlier list, so that warnings are not logged again.
    pub(super) fn remember(&mut self, earlier: &ToolList) {
        for tool in &mut self.tools {
            if let Some(&known) = earlier.by_name.get(&*tool.listed.name) {
                tool.is_warned_of = earlier.tools[known].is_warned_of.clone();
            }
        }
    }

    /// Returns true if clients see no difference between the lists.
    pub(super) fn is_like(&self, other: &ToolList) -> bool {
        let (own, others) = (self.tools.iter(), other.tools.iter());
        own.map(|tool| &tool.listed)
            .eq(others.map(|tool| &tool.listed))
    }

    /// Returns at most `most` tools after the one named `after`, or from the beginning. Also
    /// returns the name to continue after if there are more.
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
        let next = if rest.len() > most {
            rest.get(most - 1).map(|tool| &*tool.listed.name)
        } else {
            None
        };
        (page, next)
    }
}

/// The tools of code mode in a list.
struct CodeTools {
    mode: Arc<CodeMode>,
    tools: [Tool; 2],
    /// Names of tools that are not listed, because only scripts call them.
    in_code: HashSet<String>,
}

/// Returns true for the two tools of code mode.
pub(super) fn is_code_tool(name: &str) -> bool {
    name == RUN_CODE || name == SEARCH_TOOLS
}

impl CodeTools {
    /// Removes from `taken` what only scripts call. `None`: code mode is off.
    fn of(taken: &mut Vec<&Tool>, catalog: &Arc<Catalog>, host: &Host) -> Option<CodeTools> {
        let config = host.config();
        let lists_all = match config.mcp.code {
            CodeListing::Never => return None,
            CodeListing::Auto => taken.len() <= MAX_LISTED_BESIDE_CODE,
            CodeListing::Only => false,
        };
        let mut in_code: HashSet<String> = taken.iter().map(|tool| tool.name.clone()).collect();
        let lists_direct = config.mcp.code == CodeListing::Auto;
        taken.retain(|tool| lists_all || lists_direct && config.mcp.is_direct(&tool.name));
        for tool in &*taken {
            in_code.remove(&tool.name);
        }
        let mode = CodeMode::new(host.scope().clone());
        Some(CodeTools {
            tools: mode.tools(catalog, host),
            mode,
            in_code,
        })
    }

    fn has(&self, tool: &Tool) -> bool {
        self.tools.iter().any(|own| std::ptr::eq(own, tool))
    }
}

impl OfferedTool {
    /// Renames the arguments of a call to the names that the tool uses.
    pub(super) fn real_arguments(&self, arguments: Box<RawValue>) -> Box<RawValue> {
        let names = self.names.as_ref();
        let real = names.and_then(|names| names.real_arguments(&arguments));
        real.unwrap_or(arguments)
    }

    /// Renames the properties in a refusal of arguments to the names that the client uses.
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
            // Some protocols report a refusal as a result.
            Ok(mut outcome) if outcome.is_error => {
                for block in &mut outcome.content {
                    if let Block::Text { text, .. } = block {
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

    /// Adds hints that are not part of the protocol.
    fn tell_hints(&mut self, hints: MetaObject) {
        let meta = self.listed.meta.get_or_insert_default();
        meta.0.extend(hints.0);
    }

    /// Returns the schema errors of a structured result; `None` if it is valid or no schema was
    /// declared.
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
    /// The name in the host.
    pub(crate) real_name: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    /// Length of the schema as JSON without blanks, in bytes.
    pub(crate) schema_length: usize,
    /// Properties whose listed names differ from the real ones.
    pub(crate) aliases: Vec<(String, String)>,
    /// True if its own schema is a union at the root.
    pub(crate) is_union: bool,
    /// True if it declares an output schema and its text differs from the structured result.
    pub(crate) hides_text: bool,
}

/// Returns every tool that would be listed for a client without a selection.
pub(crate) fn listed(catalog: &Catalog, config: &Config) -> Vec<ListedTool> {
    let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
    let tools = catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let listed = tools.filter_map(|tool| {
        let OfferedTool { listed, names, .. } = offered(tool, &names, config).ok()?;
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
            hides_text: listed.output_schema.is_some() && !tool.text_repeats_details,
        })
    });
    listed.collect()
}

/// Returns the problems that `haft doctor` reports: tools that MCP clients do not get, and tools of
/// which models see less than their authors may expect.
pub(crate) fn problems(catalog: &Catalog, config: &Config) -> Vec<Problem> {
    let tools = || catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let problems = tools().filter_map(|tool| {
        let why = input_of(tool).err()?;
        let text = format!("\"{}\" is left out for MCP clients: {why}", tool.name);
        let problem = Problem::warning(text).at(&tool.source.path);
        Some(
            problem
                .about(&tool.name)
                .hint("correct the schema of its parameters"),
        )
    });
    let mut problems: Vec<Problem> = problems.collect();
    problems.extend(tools().filter_map(|tool| hides_text(tool, config.mcp.structured)));
    problems.extend(about_settings(config));
    problems
}

/// Returns a warning if clients show a model only the structured result.
fn hides_text(tool: &Tool, structured: Structured) -> Option<Problem> {
    let is_sent = structured != Structured::Never && tool.output_schema.is_some();
    if !is_sent || tool.text_repeats_details {
        return None;
    }
    let text = format!(
        "`{}` declares an output schema: Claude Code, Codex and others show the model only the JSON of \
         `details`, no text and no images of `content`",
        tool.name
    );
    let problem = Problem::warning(text)
        .at(&tool.source.path)
        .about(&tool.name);
    Some(problem.hint(
        "put all that the model needs into `details`, remove the schema, or set `mcp.structured: never`",
    ))
}

/// Returns problems of the configuration itself.
fn about_settings(config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    if config.mcp.structured == Structured::Always {
        let text = "`mcp.structured: always` hides text and images from models: Claude Code, Codex and \
                    others show only the JSON of a result that has `details`";
        problems.push(Problem::warning(text).hint("set it to `declared`, or leave it out"));
    }
    if let Some(length) = instructions::excess(config) {
        let most = instructions::MAX_CHARS;
        let text = format!("`mcp.instructions` has {length} characters: clients get {most}");
        problems.push(Problem::warning(text).hint("shorten it; clients cut what is longer"));
    }
    problems
}

/// Returns the schema of the tool's arguments for clients, with the data about its conversion.
fn input_of(tool: &Tool) -> Result<(JsonObject, ForMcp), String> {
    if let Some(problem) = &tool.schema_problem {
        return Err(problem.clone());
    }
    let offered = provider_schema::for_mcp(tool).map_err(|finding| finding.text)?;
    Ok((schema::of_object(&offered.schema)?, offered))
}

fn offered(tool: &Tool, names: &Names, config: &Config) -> Result<OfferedTool, String> {
    let (input, offered) = input_of(tool)?;
    let name = names.offered(&tool.name).to_owned();
    let mut listed = McpTool::new(name, offered.description, Arc::new(input));
    if tool.label != tool.name && !tool.label.is_empty() {
        listed = listed.with_title(&tool.label);
    }
    let hints = annotations(config.approval.counted_tier(tool, tool.approval));
    listed = listed.with_annotations(if tool.is_idempotent {
        hints.idempotent(true)
    } else {
        hints
    });
    let output = tool.output_schema.as_ref();
    let output = output.filter(|_| config.mcp.structured != Structured::Never);
    match output.map(schema::of_object) {
        Some(Ok(output)) => listed = listed.with_raw_output_schema(Arc::new(output)),
        Some(Err(why)) => tracing::warn!(tool = tool.name, "its output schema is left out: {why}"),
        None => {}
    }
    let mut meta = MetaObject::new();
    let origin = origin_of(tool);
    if let Some(origin) = &origin {
        meta.insert(ORIGIN.to_owned(), origin.clone());
    }
    if listed.name != tool.name {
        meta.insert(REAL_NAME.to_owned(), tool.name.as_str().into());
    }
    if offered.is_rewritten {
        meta.insert(WHOLE_SCHEMA.to_owned(), tool.input_schema.clone());
    }
    if !meta.is_empty() {
        listed = listed.with_meta(meta);
    }
    let settings = config.mcp.for_tool(&tool.name);
    Ok(OfferedTool {
        listed,
        names: offered.names,
        name: tool.name.clone(),
        origin,
        task: settings
            .task
            .or(tool.hints.task)
            .unwrap_or(config.mcp.task_after),
        max_result_chars: settings.max_result_chars,
        declares_output: tool.output_schema.is_some(),
        text_repeats_details: tool.text_repeats_details,
        is_warned_of: Arc::default(),
        output: OnceLock::new(),
    })
}

/// Returns the server or the other host that the text of the tool and of its results comes from.
fn origin_of(tool: &Tool) -> Option<Value> {
    let name = tool.source.plugin.as_deref()?;
    match tool.source.family {
        Family::Mcp => Some(json!({ "mcpServer": name })),
        Family::Remote => Some(json!({ "host": name })),
        _ => None,
    }
}

/// Hints for the client's own approval prompts. It is unknown whether a tool that writes also
/// destroys data, so that hint is left out. Clients then assume that it may.
fn annotations(tier: Tier) -> ToolAnnotations {
    let hints = ToolAnnotations::new();
    match tier {
        Tier::Read => hints.read_only(true),
        Tier::Write => hints.read_only(false).open_world(false),
        Tier::Exec => hints.read_only(false).destructive(true).open_world(true),
    }
}
