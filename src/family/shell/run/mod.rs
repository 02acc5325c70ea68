//! Calls of YAML shell tools (spec cycod, C, F to O and U).
//!
//! `template` and `values` fill texts, `quote` makes the filled texts safe, `plan` and `walk` order
//! the steps. `step`, `launch`, `start` and `output` run one step. `preview` only shows what would
//! run, `report` makes the result. No value ever becomes part of a program's source unless its
//! author left it unguarded on purpose.

mod condition;
mod defaults;
mod host_env;
mod interactive;
mod invocation;
mod launch;
pub(crate) mod mask;
mod output;
mod outside;
mod pausable_timer;
mod plan;
mod preview;
mod report;
mod sandbox;
mod scheduler;
mod self_test;
mod session;
mod start;
mod step;
pub(crate) mod survey;
mod temp;
mod template;
mod tests;
mod transform;
mod transforms;
mod value;
mod values;
pub(super) mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::arguments::Arguments;
use super::definition::{Definition, Risk};
use super::resolve::{ResolvedTool, ToolSet};
use crate::family::LoadContext;
use crate::family::rights::{Confinement, denied};
use haft_tool::{
    Approval, ApprovalRequirement, Call, CallCtx, Level, Outcome, Progress, Rule, Runner, Stopped,
    Test, ToolBounds,
};
use haft_tool::{Error, ErrorKind};
use host_env::HostEnv;
use invocation::perform;
use mask::Mask;
use session::{Around, Refusal};

/// Creates the runner of `tool`; the tools that its steps use are on the `tool_set`.
pub(super) fn runner(
    tool: Arc<ResolvedTool>,
    tool_set: Arc<ToolSet>,
    host_env: HostEnv,
) -> Arc<dyn Runner> {
    Arc::new(ShellRunner {
        stance: stance(&tool),
        tool,
        tool_set,
        host_env,
    })
}

/// Returns the settings of every call of a tool of that level. `others` are the rights of the tools
/// by name, for those that its steps use.
pub(super) fn host_env(
    means: &LoadContext<'_>,
    level: Level,
    confinement: Confinement,
    others: Arc<BTreeMap<String, Confinement>>,
) -> HostEnv {
    let config = means.config;
    HostEnv {
        cwd: config.cwd.clone(),
        home: config.home.clone(),
        temp: config.temp_dir.clone(),
        grace: config.limits_of(level).grace,
        confinement,
        others,
        sandboxes: means.sandboxes.clone(),
        container_image: config.container_image.clone(),
        // It only evaluates expressions, so it gets a generation without any module's isolate.
        engine: means.engine.new_generation(),
    }
}

/// Returns the tool's approval requirement, which is the same for every call.
fn stance(tool: &ResolvedTool) -> ApprovalRequirement {
    let Definition { security, .. } = &tool.definition;
    let permissions = &security.required_permissions;
    let lines: Vec<String> = permissions
        .iter()
        .map(|one| format!("needs {one}"))
        .collect();
    ApprovalRequirement {
        reason: security.justification.clone(),
        always_prompt: tool.is_elevated,
        requires_explicit_yes: tool.risk == Risk::Untagged,
        // Rights that the user does not have need an approval at each call, whatever else is
        // allowed.
        policy: tool.is_elevated.then_some(Rule::Prompt),
        details: (!lines.is_empty()).then(|| lines.join("\n")),
        ..ApprovalRequirement::of_tier(tool.risk.tier())
    }
}

struct ShellRunner {
    tool: Arc<ResolvedTool>,
    tool_set: Arc<ToolSet>,
    host_env: HostEnv,
    stance: ApprovalRequirement,
}

impl ShellRunner {
    fn arguments(&self, call: &Call) -> Result<Arguments, Error> {
        let parameters = &self.tool.definition.parameters;
        Arguments::from_json(parameters, call.arguments.get())
            .map_err(|problems| Error::new(ErrorKind::BadArguments, problems.join("\n")))
    }
}

#[async_trait]
impl Runner for ShellRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.arguments(call).map(|_| ())
    }

    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.host_env.confinement.bounds.clone())
    }

    fn approval(&self) -> Approval<'_> {
        Approval::Fixed(&self.stance)
    }

    async fn preview(&self, call: &Call) -> Result<Option<String>, Error> {
        let arguments = self.arguments(call)?;
        let previewed =
            preview::preview(&self.tool, &arguments, &self.tool_set, &self.host_env).await;
        match previewed {
            Ok(text) => Ok(Some(text)),
            Err(refusal) => Err(refused(refusal)),
        }
    }

    fn tests(&self) -> Vec<Test> {
        tests::tests(&self.tool, &self.tool_set, &self.host_env, &self.stance)
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let arguments = self.arguments(&call)?;
        if let Some(never) = never_started(&ctx, &self.stance).await? {
            return Ok(never);
        }
        let started = Instant::now();
        ctx.updates.send(Progress::Started);
        let around = Around {
            stop: ctx.cancel().clone(),
            force_token: ctx.force_token(),
            updates: Some(ctx.updates.clone()),
            user: ctx.user.clone(),
            mask: Mask::default(),
        };
        let performed = perform(
            &self.tool,
            &arguments,
            &self.tool_set,
            &self.host_env,
            around,
        )
        .await;
        let duration = started.elapsed();
        match performed {
            Ok(report) if report.was_cancelled => {
                let why = ctx.stop_reason();
                Ok(Outcome {
                    details: report.outcome(duration).details,
                    ..stopped(why, reason(why).to_owned(), duration)
                })
            }
            // The tool's own timeout is a failure of the tool, not a stop by the caller.
            Ok(report) => Ok(report.outcome(duration)),
            Err(Refusal::Impossible(text)) => Ok(Outcome::failure(text, duration)),
            Err(refusal) => Err(refused(refusal)),
        }
    }
}

/// Converts a refusal to an error of the call.
fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Arguments(text) => Error::new(ErrorKind::BadArguments, text),
        Refusal::NotGranted(text, hint) => Error::new(ErrorKind::Denied, text)
            .with_hint(hint.unwrap_or_else(|| "a tool without a sandbox has it".to_owned())),
        Refusal::NotPermitted(text) => denied(&text),
        Refusal::Impossible(text) => Error::new(ErrorKind::Load, text),
    }
}

/// Waits at the call's gate. Returns `Some` if the call was cancelled there.
async fn never_started(
    ctx: &CallCtx,
    stance: &ApprovalRequirement,
) -> Result<Option<Outcome>, Error> {
    if let Some(gate) = &ctx.gate {
        tokio::select! {
            passed = gate.pass(stance.clone()) => drop(passed?),
            () = ctx.cancel().cancelled() => {}
        }
    }
    let is_cancelled = ctx.is_cancelled();
    Ok(is_cancelled.then(|| Outcome::not_started(ctx.stop_reason())))
}

fn stopped(why: Stopped, text: String, duration: Duration) -> Outcome {
    Outcome::stopped(why, format!("The tool was stopped: {text}."), duration)
}

fn reason(why: Stopped) -> &'static str {
    match why {
        Stopped::Cancelled => "the call was cancelled",
        other => other.reason(),
    }
}
