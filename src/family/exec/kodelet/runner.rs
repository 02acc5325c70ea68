//! Runs one of Kodelet's tools: the arguments on its standard input, its result on standard output.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::result::{self, Bounds};
use crate::family::exec::verified::Refused;
use crate::family::exec::{MAX_GRACE, arguments, spawn_error};
use crate::family::rights::Confinement;
use haft_config::Config;
use haft_discover::Candidate;
use haft_process::{End, Keep, Spawn, Stdin};
use haft_tool::schema::Schema;
use haft_tool::{ApprovalRequirement, Call, CallCtx, Outcome, Runner, Stopped, Tier, ToolBounds};
use haft_tool::{Error, ErrorKind, Family};

/// Starts a fresh process for every call.
pub(super) struct KodeletRunner {
    name: String,
    schema: Schema,
    spawn: Spawn,
    confinement: Confinement,
    refused: Refused,
    bounds: Bounds,
}

impl KodeletRunner {
    pub(super) fn new(
        candidate: &Candidate,
        name: String,
        schema: Schema,
        config: &Config,
        confinement: Confinement,
    ) -> Self {
        let tools = config.custom_tools_of(candidate.bounds_level());
        let bounds = Bounds {
            timeout: tools.timeout,
            max_output: tools.max_output_size,
        };
        let grace = config.limits_of(candidate.bounds_level()).grace;
        let spawn = Spawn {
            stdout: Keep::Head(bounds.max_output),
            stderr: Keep::Head(bounds.max_output),
            deadline: Some(bounds.timeout),
            grace,
            timeout_grace: grace.min(MAX_GRACE),
            ..super::spawn(candidate, "run", config, &confinement)
        };
        KodeletRunner {
            name,
            schema,
            spawn,
            confinement,
            refused: Refused::of(candidate),
            bounds,
        }
    }

    /// Returns the text of the arguments for the tool, as it came. The error has everything that is
    /// wrong with them.
    fn arguments(&self, call: &Call) -> Result<String, Error> {
        let invalid = |why: String| {
            Error::new(
                ErrorKind::BadArguments,
                format!("invalid JSON input: {why}"),
            )
        };
        let text = arguments::object(&call.arguments).map_err(|why| invalid(why.to_string()))?;
        let value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        self.schema.check(&call.tool, &value)?;
        Ok(text)
    }

    fn not_started(&self, why: Stopped) -> Outcome {
        let said = Err(Outcome::not_started(why).text());
        Outcome {
            stopped: Some(why),
            ..result::outcome(&self.name, said, Duration::ZERO)
        }
    }
}

#[async_trait]
impl Runner for KodeletRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.arguments(call).map(drop)
    }

    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.confinement.bounds.clone())
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let arguments = match self.arguments(&call) {
            Ok(arguments) => arguments,
            // Kodelet's callers get the same form of a failure whatever failed (kodelet 57).
            Err(error) => {
                let said = Err(error.message().to_owned());
                return Ok(result::outcome(&self.name, said, Duration::ZERO));
            }
        };
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(Tier::Exec)).await? {
            return Ok(self.not_started(why));
        }
        let spawn = Spawn {
            stdin: Stdin::Bytes(arguments.into_bytes()),
            force_token: Some(ctx.force_token()),
            ..self.spawn.clone()
        };
        let finished = match spawn.run(ctx.cancel()).await {
            Ok(finished) => finished,
            Err(error) => {
                let tool = format!("{}{}", Family::Kodelet.prefix(), self.name);
                if let Some(error) = self.refused.error(&tool, &error) {
                    return Err(error);
                }
                let (why, _) = spawn_error::explain(&error, self.spawn.program.name().as_ref());
                let said = Err(format!("failed to run tool: {why}"));
                return Ok(result::outcome(&self.name, said, Duration::ZERO));
            }
        };
        if matches!(finished.end, End::Exited(0)) && !finished.stderr.bytes.is_empty() {
            tracing::debug!(tool = self.name, stderr = finished.stderr.text());
        }
        let stopped = match finished.end {
            End::TimedOut(_) => Some(Stopped::Deadline),
            End::Cancelled(_) => Some(ctx.stop_reason()),
            End::Exited(_) | End::Signaled(_) => None,
        };
        let said = result::read(&finished, ctx.stop_reason(), &self.bounds);
        let folder = self.spawn.cwd.as_deref();
        let said = said.map_err(|text| match self.confinement.note_of(&finished, folder) {
            Some(note) => format!("{text}\n{note}"),
            None => text,
        });
        Ok(Outcome {
            stopped,
            ..result::outcome(&self.name, said, finished.duration)
        })
    }
}
