//! A tool, all tools and a reload in the format of aynd (spec aynd 17, 20, 68–70).
//!
//! aynd has two sources, so every tool that is not built into haft is a plugin. `/api/catalog` has
//! the other data of a tool.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::registry::Catalog;
use crate::surface::http::Client;
use crate::surface::wire;
use haft_tool::{Severity, Tool};

/// Provider of the built-in tools.
const BUILT_IN: &str = "builtin";

/// A tool.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RegisteredToolInfo)]
pub(super) struct ToolInfo<'a> {
    /// The name it is called by.
    name: &'a str,
    /// Description for the model.
    description: &'a str,
    source: SourceName,
    /// The collection it belongs to; only for plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin_name: Option<&'a str>,
    /// The JSON Schema of its arguments.
    #[schema(value_type = Object)]
    input_schema: &'a Value,
}

/// Origin of a tool: built in, or anything else.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolSource)]
enum SourceName {
    Builtin,
    Plugin,
}

/// All tools that may be called.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolList)]
pub(super) struct ToolList<'a> {
    tools: Vec<ToolInfo<'a>>,
    counts: Counts,
}

/// Number of tools.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolCounts)]
struct Counts {
    total: usize,
    builtin: usize,
    plugin: usize,
}

/// Result of a reload.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ToolRegistrationResult)]
pub(super) struct Reloaded<'a> {
    /// False if there is any error.
    success: bool,
    /// Number of tools now.
    tool_count: usize,
    errors: Vec<RegistrationError<'a>>,
}

/// Something that could not be registered.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ToolRegistrationError)]
struct RegistrationError<'a> {
    /// The file's path, or `builtin`.
    source: String,
    /// The tool, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    /// The problem.
    message: &'a str,
}

impl<'a> From<&'a Tool> for ToolInfo<'a> {
    fn from(tool: &'a Tool) -> Self {
        let source = if tool.source.provider == BUILT_IN {
            SourceName::Builtin
        } else {
            SourceName::Plugin
        };
        ToolInfo {
            name: &tool.name,
            description: &tool.description,
            source,
            plugin_name: tool.source.plugin.as_deref(),
            input_schema: &tool.input_schema,
        }
    }
}

impl<'a> ToolList<'a> {
    /// Lists the tools that the client may call.
    pub(super) fn of(catalog: &'a Catalog, client: &Client) -> Self {
        let tools = listed(catalog).filter(|tool| client.scope().allows(tool));
        let mut tools: Vec<ToolInfo<'a>> = tools.map(ToolInfo::from).collect();
        // The sort is stable: tools of the same source stay in the order in which they claimed
        // their names.
        tools.sort_by_key(|tool| tool.source == SourceName::Plugin);
        let total = tools.len();
        let is_plugin = |tool: &&ToolInfo<'_>| tool.source == SourceName::Plugin;
        let plugin = tools.iter().filter(is_plugin).count();
        ToolList {
            tools,
            counts: Counts {
                total,
                builtin: total - plugin,
                plugin,
            },
        }
    }
}

impl<'a> From<&'a Catalog> for Reloaded<'a> {
    fn from(catalog: &'a Catalog) -> Self {
        let problems = catalog.problems.iter();
        let errors = problems.filter(|problem| problem.severity == Severity::Error);
        let errors: Vec<_> = errors
            .map(|problem| RegistrationError {
                source: match &problem.path {
                    Some(path) => wire::path(path).into_owned(),
                    None => BUILT_IN.to_owned(),
                },
                tool_name: problem.tool_name.as_deref(),
                message: &problem.message,
            })
            .collect();
        Reloaded {
            success: errors.is_empty(),
            tool_count: listed(catalog).count(),
            errors,
        }
    }
}

/// Returns the tools that are trusted and visible to models.
fn listed(catalog: &Catalog) -> impl Iterator<Item = &Tool> {
    catalog.tools().filter(|tool| tool.trusted && !tool.hidden)
}
