//! Built-in tools of haft: aynd's four (spec aynd 61-67). They only read.
//!
//! They exist for aynd's users, and are in the catalog only if `builtin_tools` enables them.

mod git;
mod repository;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use self::git::{Ask, Failed};
use super::rights::{Confinement, denied};
use super::{LoadContext, Loaded, read_within};
use haft_discover::Candidate;
use haft_process::{Spawn, SpawnError};
use haft_tool::Error;
use haft_tool::schema::{Schema, object_of};
use haft_tool::{
    ApprovalRequirement, Call, CallCtx, Outcome, Problem, Runner, Tier, Tool, ToolBounds,
};

/// Names of the tools, in the order of the list.
pub(super) const NAMES: [&str; 4] = [
    Kind::GitStatus.name(),
    Kind::GitDiffSummary.name(),
    Kind::WorkspaceInfo.name(),
    Kind::FileReader.name(),
];

#[derive(Clone, Copy, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
enum Kind {
    GitStatus,
    GitDiffSummary,
    WorkspaceInfo,
    FileReader,
}

/// Reason why a tool has no result.
enum Failure {
    Tool(String),
    Cancelled(String),
}

impl Failure {
    fn of_git(command: &str, failed: &Failed) -> Failure {
        let text = failed.text(command);
        match failed {
            Failed::Cancelled => Failure::Cancelled(text),
            Failed::Code(..) | Failed::Other(_) => Failure::Tool(text),
        }
    }
}

/// Creates the tools, for each candidate that represents them.
pub(super) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let load = |candidate: &&Candidate| load(means, candidate);
    candidates.iter().map(load).collect()
}

fn load(means: &LoadContext<'_>, candidate: &Candidate) -> Loaded {
    let (config, source) = (means.config, &candidate.source);
    let mut loaded = Loaded::default();
    for &kind in <Kind as strum::VariantArray>::VARIANTS {
        let confinement = match kind {
            Kind::FileReader => means.sandboxes.of(config, candidate, kind.name()),
            // git reads a repository that may be hostile.
            Kind::GitStatus | Kind::GitDiffSummary | Kind::WorkspaceInfo => {
                let folders = repository::folders(&config.cwd, &config.home);
                let sandboxes = &means.sandboxes;
                sandboxes.of_project_program(config, candidate, kind.name(), folders)
            }
        };
        let confinement = match confinement {
            Ok(confinement) => confinement,
            Err(problem) => {
                loaded.problems.push(*problem);
                continue;
            }
        };
        let input_schema = kind.input_schema();
        let schema = match Schema::compile(&input_schema) {
            Ok(schema) => schema,
            Err(error) => {
                let text = format!("the schema of a built-in tool: {error}");
                loaded
                    .problems
                    .push(Problem::error(text).about(kind.name()));
                continue;
            }
        };
        let tool = Tool {
            approval: Tier::Read,
            ..Tool::new(
                kind.name(),
                kind.description(),
                input_schema,
                source.clone(),
            )
        };
        let runner = NativeRunner {
            kind,
            schema,
            project: config.cwd.clone(),
            confinement,
        };
        loaded.tools.push((Arc::new(tool), Arc::new(runner)));
    }
    loaded
}

impl Kind {
    const fn name(self) -> &'static str {
        self.into_str()
    }

    fn description(self) -> &'static str {
        match self {
            Kind::GitStatus => "Returns working tree status",
            Kind::GitDiffSummary => "Returns a summary of uncommitted changes",
            Kind::WorkspaceInfo => {
                "Returns the path, git branch and remote URL of the current workspace"
            }
            Kind::FileReader => "Reads a file of the project, or some of its lines",
        }
    }

    fn input_schema(self) -> Value {
        let string = |text: &str| json!({"type": "string", "description": text});
        let number = |text: &str| json!({"type": "number", "description": text});
        match self {
            Kind::GitStatus => json!({
                "type": "object",
                "properties": {"path": string("A file or folder of the project to look at")},
            }),
            Kind::GitDiffSummary => json!({
                "type": "object",
                "properties": {"staged": {
                    "type": "boolean",
                    "description": "What is staged, instead of what is not",
                }},
            }),
            Kind::WorkspaceInfo => json!({"type": "object", "properties": {}}),
            Kind::FileReader => json!({
                "type": "object",
                "properties": {
                    "path": string("The file, relative to the project"),
                    "startLine": number("The first line, counted from 1"),
                    "endLine": number("The last line, included"),
                },
                "required": ["path"],
            }),
        }
    }

    async fn run(self, ask: Ask<'_>) -> Result<String, Failure> {
        match self {
            Kind::GitStatus => tools::git_status(ask).await,
            Kind::GitDiffSummary => tools::git_diff_summary(ask).await,
            Kind::WorkspaceInfo => tools::workspace_info(ask).await,
            Kind::FileReader => tools::file_reader(ask).await,
        }
    }
}

/// Runner of one of the tools.
struct NativeRunner {
    kind: Kind,
    schema: Schema,
    project: PathBuf,
    confinement: Confinement,
}

impl NativeRunner {
    fn arguments(&self, call: &Call) -> Result<Map<String, Value>, Error> {
        let name = self.kind.name();
        let mut arguments = object_of(name, &call.arguments)?;
        // Models write null for what they leave out.
        arguments.retain(|_, value| !value.is_null());
        self.schema.check(name, &Value::Object(arguments.clone()))?;
        match self.refusal(&arguments) {
            Some(refusal) => Err(denied(&refusal)),
            None => Ok(arguments),
        }
    }

    /// Returns the reason why the call is not permitted; `None` if it is.
    fn refusal(&self, arguments: &Map<String, Value>) -> Option<String> {
        if matches!(self.kind, Kind::FileReader) {
            let path = arguments.get("path").and_then(Value::as_str)?;
            return read_within::refusal(&self.project, path, &self.confinement.permissions);
        }
        let git = self.confinement.confined(Spawn::new("git", [""; 0]));
        match git.check_rights() {
            Err(SpawnError::NotPermitted { text, .. }) => Some(text),
            _ => None,
        }
    }
}

#[async_trait]
impl Runner for NativeRunner {
    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.confinement.bounds.clone())
    }

    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.arguments(call).map(drop)
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let args = self.arguments(&call)?;
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(Tier::Read)).await? {
            return Ok(Outcome::not_started(why));
        }
        let started = Instant::now();
        let ask = Ask {
            project: &self.project,
            confinement: &self.confinement,
            args: &args,
            cancel: ctx.cancel(),
        };
        let said = self.kind.run(ask).await;
        let duration = started.elapsed();
        Ok(match said {
            Ok(text) => Outcome::success(text, duration),
            Err(Failure::Tool(text)) => Outcome::failure(text, duration),
            Err(Failure::Cancelled(text)) => Outcome::stopped(ctx.stop_reason(), text, duration),
        })
    }
}
