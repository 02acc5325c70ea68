//! Tools, problems, results and errors as JSON: the common form of `--json` and RPC.
//!
//! `Tool`, `Problem` and `Outcome` have no serialized form themselves. This form is the stable
//! interface for other programs. The order of the fields is part of it. Optional fields are omitted
//! if absent.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::host::Reload;
use crate::registry::Catalog;
use haft_tool::Error;
use haft_tool::{
    Block, CatalogChange, Family, Level, Outcome, PermissionKind, Problem, Severity, Stopped, Tier,
    Tool, ToolBounds,
};

/// Everything a catalog holds: what `list --json` and `tools/list` answer.
#[derive(Serialize, ToSchema)]
#[schema(as = Catalog)]
pub(crate) struct Listing<'a> {
    tools: Vec<ToolView<'a>>,
    problems: Vec<ProblemView<'a>>,
}

/// A tool with all that is known of it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tool)]
pub(crate) struct ToolView<'a> {
    name: &'a str,
    label: &'a str,
    description: &'a str,
    #[schema(value_type = String)]
    family: Family,
    provider: &'a str,
    provider_name: &'a str,
    #[schema(value_type = String)]
    level: Level,
    #[schema(value_type = String)]
    path: Cow<'a, str>,
    #[schema(value_type = Object)]
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    output_schema: Option<&'a Value>,
    #[schema(value_type = String)]
    approval: Tier,
    hidden: bool,
    trusted: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    /// Only in `/api/catalog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rights: Option<RightsView>,
}

/// Rights of a tool, with what enforces them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Rights)]
pub(crate) struct RightsView {
    /// The name of the profile.
    profile: String,
    /// `none`, `process` or `sandbox`.
    isolation: &'static str,
    /// The mechanisms of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<String>,
    /// The rights that are not enforced on this system.
    not_enforced: Vec<String>,
    /// The permission of each kind of access.
    permissions: BTreeMap<&'static str, String>,
    /// The profile, the file that defines it, and the key that chooses it for the tool.
    source: String,
}

impl RightsView {
    pub(crate) fn of(bounds: &ToolBounds) -> RightsView {
        let permissions = &bounds.rights.permissions;
        let of_kind = |kind: PermissionKind| (kind.as_str(), permissions.shown(kind).plain());
        RightsView {
            profile: bounds.profile.name.clone(),
            isolation: bounds.rights.isolation.as_str(),
            layers: bounds.layers.clone(),
            not_enforced: bounds.missing.clone(),
            permissions: PermissionKind::ALL.map(of_kind).into(),
            source: bounds.profile.to_string(),
        }
    }
}

/// Something that is wrong with what was found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FoundProblem)]
pub(crate) struct ProblemView<'a> {
    #[schema(value_type = String)]
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    path: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    file: Option<Cow<'a, str>>,
    /// The lines around the place. Only in `/api/catalog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<&'a str>,
}

/// Outcome of a call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeView<'a> {
    content: &'a [Block],
    details: &'a Value,
    is_error: bool,
    #[serde(skip_serializing_if = "is_false")]
    useless: bool,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

/// Result of a reload after a change on disk.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReloadView<'a> {
    /// Increased by one with each change that callers can see.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    changed: Vec<&'a str>,
    /// Modules whose code was replaced, even if callers see no difference.
    reloaded: Vec<&'a str>,
    problems: Vec<ProblemView<'a>>,
    solved: Vec<ProblemView<'a>>,
}

/// Error of haft itself.
#[derive(Serialize)]
pub(crate) struct ErrorView<'a> {
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> From<&'a Catalog> for Listing<'a> {
    fn from(catalog: &'a Catalog) -> Self {
        Listing::selected(catalog, |_| true)
    }
}

impl<'a> Listing<'a> {
    /// Lists the tools whose names are selected, and all problems.
    pub(crate) fn selected(catalog: &'a Catalog, selects: impl Fn(&str) -> bool) -> Self {
        Listing {
            problems: catalog.problems.iter().map(ProblemView::from).collect(),
            ..Listing::of_tools(catalog, |tool| selects(&tool.name))
        }
    }

    /// Adds the rights of the tools.
    pub(crate) fn with_rights(mut self, catalog: &Catalog) -> Self {
        for tool in &mut self.tools {
            let bounds = catalog.find(tool.name).and_then(|it| it.runner.bounds());
            tool.rights = bounds.map(|bounds| RightsView::of(&bounds));
        }
        self
    }

    /// Adds the source lines of the problems.
    pub(crate) fn with_frames(mut self, catalog: &'a Catalog) -> Self {
        for (problem, found) in self.problems.iter_mut().zip(&catalog.problems) {
            problem.frame = found.frame.as_deref();
        }
        self
    }

    /// Lists only these tools, without problems.
    pub(crate) fn of_tools(catalog: &'a Catalog, allows: impl Fn(&Tool) -> bool) -> Self {
        let tools = catalog.tools().filter(|tool| allows(tool));
        Listing {
            tools: tools.map(ToolView::from).collect(),
            problems: Vec::new(),
        }
    }
}

impl<'a> From<&'a Tool> for ToolView<'a> {
    fn from(tool: &'a Tool) -> Self {
        ToolView {
            name: &tool.name,
            label: &tool.label,
            description: &tool.description,
            family: tool.source.family,
            provider: &tool.source.provider,
            provider_name: &tool.source.provider_name,
            level: tool.source.level,
            path: path(&tool.source.path),
            input_schema: &tool.input_schema,
            output_schema: tool.output_schema.as_ref(),
            approval: tool.approval,
            hidden: tool.hidden,
            trusted: tool.trusted,
            tags: &tool.tags,
            rights: None,
        }
    }
}

impl<'a> From<&'a Problem> for ProblemView<'a> {
    fn from(problem: &'a Problem) -> Self {
        ProblemView {
            severity: problem.severity,
            path: problem.path.as_deref().map(path),
            line: problem.line,
            column: problem.column,
            tool_name: problem.tool_name.as_deref(),
            message: &problem.message,
            hint: problem.hint.as_deref(),
            file: problem.file.as_deref().map(path),
            frame: None,
        }
    }
}

impl<'a> From<&'a Outcome> for OutcomeView<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        OutcomeView {
            content: &outcome.content,
            details: &outcome.details,
            is_error: outcome.is_error,
            useless: outcome.useless,
            duration_ms: millis(outcome.duration),
            stopped: outcome.stopped,
        }
    }
}

impl<'a> From<&'a Reload> for ReloadView<'a> {
    fn from(reload: &'a Reload) -> Self {
        let change = reload.change.as_deref().map(ReloadView::of_change);
        ReloadView {
            reloaded: names(&reload.reloaded),
            problems: reload.problems.iter().map(ProblemView::from).collect(),
            solved: reload.solved.iter().map(ProblemView::from).collect(),
            ..change.unwrap_or_default()
        }
    }
}

impl<'a> From<&'a Error> for ErrorView<'a> {
    fn from(error: &'a Error) -> Self {
        ErrorView {
            kind: error.kind().as_str(),
            message: error.message(),
            hint: error.hint(),
        }
    }
}

impl<'a> ReloadView<'a> {
    /// Returns the form of a change of the list whose cause is not known.
    pub(crate) fn of_change(change: &'a CatalogChange) -> Self {
        ReloadView {
            generation: Some(change.generation),
            added: names(&change.added),
            removed: names(&change.removed),
            changed: names(&change.changed),
            ..ReloadView::default()
        }
    }

    /// Keeps the tools whose names are selected. Returns `None` if nothing is left.
    pub(crate) fn selected(mut self, selects: impl Fn(&str) -> bool) -> Option<Self> {
        let lists = [
            &mut self.added,
            &mut self.removed,
            &mut self.changed,
            &mut self.reloaded,
        ];
        let mut is_empty = self.problems.is_empty() && self.solved.is_empty();
        for names in lists {
            names.retain(|name| selects(name));
            is_empty &= names.is_empty();
        }
        (!is_empty).then_some(self)
    }
}

fn names(of: &[String]) -> Vec<&str> {
    of.iter().map(String::as_str).collect()
}

/// Returns the message after a refresh. The wording is specified (spec ikigai 46).
pub(crate) fn refreshed(tools: usize) -> String {
    format!("Tools refreshed. {tools} tools available.")
}

/// Converts a path to JSON text. Bytes that are not UTF-8 are replaced.
pub(crate) fn path(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// Returns milliseconds with microsecond precision: most calls take less than one.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

fn is_false(flag: &bool) -> bool {
    !flag
}
