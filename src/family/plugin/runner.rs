//! Calls one tool: arguments, values in their places, the gate, the handler.
//!
//! Everything that can be refused without touching anything is refused before the gate: no approval
//! is requested for a call that cannot run. What happens after it is the tool's own result, a
//! failure too.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use super::Ended;
use super::args::Args;
use super::definition::{Definition, Handler};
use super::file_read::FileReadPlan;
use super::http::HttpPlan;
use super::shell::ShellPlan;
use crate::family::rights::{Confinement, denied};
use haft_tool::{ApprovalRequirement, Call, CallCtx, Outcome, Runner, ToolBounds};
use haft_tool::{Error, ErrorKind};

/// Runs the tool of one definition.
pub(super) struct PluginRunner {
    definition: Definition,
    confinement: Confinement,
}

/// A call that has passed all checks.
enum Plan {
    Shell(ShellPlan),
    Http(HttpPlan),
    FileRead(FileReadPlan),
}

impl PluginRunner {
    pub(super) fn new(definition: Definition, confinement: Confinement) -> Self {
        PluginRunner {
            definition,
            confinement,
        }
    }

    fn plan(&self, call: &Call) -> Result<Plan, Error> {
        let Definition { name, schema, .. } = &self.definition;
        let args = Args::read(name, &call.arguments, &self.definition.defaults)?;
        schema.check(name, &args.values())?;
        let plan = match &self.definition.handler {
            Handler::Shell(shell) => shell.plan(name, &args).map(Plan::Shell),
            Handler::Http(http) => http.plan(&args).map(Plan::Http),
            Handler::FileRead(file) => file.plan(&args).map(Plan::FileRead),
        };
        let plan = plan.map_err(|text| Error::new(ErrorKind::BadArguments, text))?;
        let refusal = match &plan {
            Plan::Shell(_) => self.confinement.rights.refuse_all(name),
            Plan::Http(http) => http.refusal(&self.confinement.permissions),
            Plan::FileRead(file) => file.refusal(&self.confinement.permissions),
        };
        match refusal {
            Some(refusal) => Err(denied(&refusal)),
            None => Ok(plan),
        }
    }
}

#[async_trait]
impl Runner for PluginRunner {
    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.confinement.bounds.clone())
    }

    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.plan(call).map(drop)
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let plan = self.plan(&call)?;
        if let Some(why) = ctx
            .admit(ApprovalRequirement::of_tier(self.definition.handler.tier()))
            .await?
        {
            return Ok(Outcome::not_started(why));
        }
        let started = Instant::now();
        let ended = match plan {
            Plan::Shell(plan) => plan.run(&self.confinement, &ctx).await,
            Plan::Http(plan) => plan.run(&self.confinement.permissions, &ctx).await,
            Plan::FileRead(plan) => plan.run(&ctx).await,
        };
        let duration = started.elapsed();
        Ok(match ended {
            Ended::Succeeded(text) => Outcome::success(text, duration),
            Ended::Failed(text) => Outcome::failure(text, duration),
            Ended::Stopped(text) => Outcome::stopped(ctx.stop_reason(), text, duration),
        })
    }
}
