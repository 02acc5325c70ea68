//! Response of `tools/load`, in the format of oh-my-pi's loader.
//!
//! Other hosts run their tests against this format, so names and order are those of the loader.
//! Additional data of haft comes after them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::host::Loaded;
use crate::registry::Entry;
use crate::surface::wire;
use haft_tool::{Level, Problem, Source, Tier};

/// Result of `tools/load`: `{tools, errors}`.
#[derive(Serialize)]
pub(super) struct LoadedView<'a> {
    tools: Vec<LoadedTool<'a>>,
    errors: Vec<LoadError<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoadedTool<'a> {
    path: Cow<'a, str>,
    resolved_path: Cow<'a, str>,
    tool: Definition<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Definition<'a> {
    name: &'a str,
    label: &'a str,
    description: &'a str,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    hidden: bool,
    approval: Tier,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceView<'a> {
    provider: &'a str,
    provider_name: &'a str,
    level: Level,
}

#[derive(Serialize)]
struct LoadError<'a> {
    path: Cow<'a, str>,
    error: &'a str,
}

impl<'a> From<&'a Loaded> for LoadedView<'a> {
    fn from(loaded: &'a Loaded) -> Self {
        LoadedView {
            tools: loaded.entries.iter().map(|entry| tool(entry)).collect(),
            errors: loaded.problems.iter().map(error).collect(),
        }
    }
}

fn tool(entry: &Entry) -> LoadedTool<'_> {
    let tool = &entry.tool;
    LoadedTool {
        path: wire::path(&tool.source.path),
        resolved_path: wire::path(&entry.resolved_path),
        tool: Definition {
            name: &tool.name,
            label: &tool.label,
            description: &tool.description,
            parameters: &tool.input_schema,
            output_schema: tool.output_schema.as_ref(),
            strict: tool.strict,
            hidden: tool.hidden,
            approval: tool.approval,
        },
        source: source(&tool.source),
    }
}

/// Returns the source of a tool. A path that the peer passed was not found by a provider, so the
/// loader gives it no source.
fn source(source: &Source) -> Option<SourceView<'_>> {
    (!source.provider.is_empty()).then_some(SourceView {
        provider: &source.provider,
        provider_name: &source.provider_name,
        level: source.level,
    })
}

fn error(problem: &Problem) -> LoadError<'_> {
    LoadError {
        path: problem.path.as_deref().map_or("".into(), wire::path),
        error: &problem.message,
    }
}
