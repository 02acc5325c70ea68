//! Runs one of ikigai's tools: parameters on its standard input, one JSON value on its output.
//!
//! Every answer is an envelope. The timeout counts from the start of the process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::envelope::{self, Code};
use crate::family::exec::verified::Refused;
use crate::family::exec::{MAX_GRACE, arguments, spawn_error};
use crate::family::rights::Confinement;
use haft_config::{Config, format_duration};
use haft_discover::Candidate;
use haft_process::{End, Finished, Keep, Spawn, SpawnError, Stdin, Stream};
use haft_tool::{
    ApprovalRequirement, Block, Call, CallCtx, Outcome, Runner, Stopped, Tier, ToolBounds,
};
use haft_tool::{Error, ErrorKind};

/// Limit of a tool's output. A longer one is cut off and therefore not JSON any more.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// Number of bytes of the standard error that are kept for the log.
const LOGGED: usize = 64 << 10;

/// Starts a fresh process for every call.
pub(super) struct IkigaiRunner {
    name: String,
    tier: Tier,
    timeout: Duration,
    spawn: Spawn,
    confinement: Confinement,
    refused: Refused,
}

/// Finished process of a call.
struct Ran {
    finished: Finished,
    /// True if it printed too much and was ended for that.
    is_too_long: bool,
}

impl IkigaiRunner {
    pub(super) fn new(
        candidate: &Candidate,
        name: String,
        tier: Tier,
        config: &Config,
        confinement: Confinement,
    ) -> Self {
        let grace = config.limits_of(candidate.bounds_level()).grace;
        let timeout = config.ikigai.timeout;
        let spawn = Spawn {
            stdout: Keep::Head(MAX_OUTPUT_BYTES),
            stderr: Keep::Head(LOGGED),
            deadline: Some(timeout),
            grace,
            timeout_grace: grace.min(MAX_GRACE),
            ..super::spawn(candidate, None, config, &confinement)
        };
        IkigaiRunner {
            name,
            tier,
            timeout,
            spawn,
            confinement,
            refused: Refused::of(candidate),
        }
    }

    async fn execute(&self, parameters: String, ctx: &CallCtx) -> Result<Ran, SpawnError> {
        let spawn = Spawn {
            stdin: Stdin::Bytes(parameters.into_bytes()),
            force_token: Some(ctx.force_token()),
            ..self.spawn.clone()
        };
        let mut child = spawn.start(ctx.cancel()).await?;
        let mut length = 0;
        while let Some(chunk) = child.next().await {
            if chunk.stream == Stream::Stdout {
                length += chunk.bytes.len();
            }
            if length > MAX_OUTPUT_BYTES {
                child.stop();
                break;
            }
        }
        Ok(Ran {
            finished: child.wait().await,
            is_too_long: length > MAX_OUTPUT_BYTES,
        })
    }

    /// Returns the envelope of a run; `Ok` holds a result, `Err` a failure.
    fn envelope(&self, ran: &Ran, why_stopped: Stopped) -> Result<String, String> {
        let name = &self.name;
        let failure = |code, error: String| Err(envelope::failure(code, &error));
        if ran.is_too_long {
            let most = MAX_OUTPUT_BYTES >> 20;
            let error = format!("Tool returned more than {most} MB of output");
            return failure(Code::InvalidOutput, error);
        }
        let timed_out = |after: Duration| {
            let after = format_duration(after);
            failure(
                Code::Timeout,
                format!("Tool '{name}' timed out after {after}"),
            )
        };
        match (ran.finished.end, why_stopped) {
            (End::Exited(0), _) => {}
            (End::TimedOut(_), _) => return timed_out(self.timeout),
            (End::Cancelled(_), Stopped::Deadline) => {
                let millis = ran.finished.duration.as_millis();
                let millis = u64::try_from(millis).unwrap_or(u64::MAX);
                return timed_out(Duration::from_millis(millis));
            }
            (End::Cancelled(_), _) => {
                return failure(Code::Cancelled, format!("Tool '{name}' was cancelled"));
            }
            (end @ (End::Exited(_) | End::Signaled(_)), _) => {
                let code = end.shell_code();
                let folder = self.spawn.cwd.as_deref();
                let mut error = format!("Tool '{name}' crashed with exit code {code}");
                if let Some(note) = self.confinement.note_of(&ran.finished, folder) {
                    error.push_str(&format!("\n{note}"));
                }
                return failure(Code::Crashed, error);
            }
        }
        match envelope::parse(&ran.finished.stdout.bytes) {
            Some(result) => Ok(envelope::success(&result)),
            None => failure(Code::InvalidOutput, "Tool returned invalid JSON".to_owned()),
        }
    }
}

/// Returns the answer to a call of an ikigai tool that was removed after its caller had listed it.
/// It is an envelope, as for every ikigai call (ikigai 36).
pub(crate) fn no_longer_there() -> Outcome {
    failed(Code::NotFound, "Tool not found")
}

fn outcome(envelope: Result<String, String>, duration: Duration) -> Outcome {
    let is_error = envelope.is_err();
    let text = envelope.unwrap_or_else(|failure| failure);
    Outcome {
        details: envelope::details(&text),
        content: vec![Block::text(text)],
        is_error,
        ..Outcome::failure("", duration)
    }
}

fn failed(code: Code, error: &str) -> Outcome {
    outcome(Err(envelope::failure(code, error)), Duration::ZERO)
}

#[async_trait]
impl Runner for IkigaiRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        let checked = arguments::object(&call.arguments);
        checked.map(drop).map_err(|why| {
            let text = format!("invalid parameters for tool `{}`: {why}", self.name);
            Error::new(ErrorKind::BadArguments, text)
        })
    }

    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.confinement.bounds.clone())
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let parameters = match arguments::object(&call.arguments) {
            Ok(parameters) => parameters,
            Err(why) => {
                let error = format!("Invalid parameters: {why}");
                return Ok(failed(Code::InvalidParams, &error));
            }
        };
        let requirement = ApprovalRequirement::of_tier(self.tier);
        if let Some(why) = ctx.admit(requirement).await? {
            let error = format!("Tool '{}' was cancelled", self.name);
            return Ok(Outcome {
                stopped: Some(why),
                ..failed(Code::Cancelled, &error)
            });
        }
        let ran = match self.execute(parameters, &ctx).await {
            Ok(ran) => ran,
            Err(error) => {
                if let Some(error) = self.refused.error(&self.name, &error) {
                    return Err(error);
                }
                let (why, _) = spawn_error::explain(&error, self.spawn.program.name().as_ref());
                let error = format!("Tool '{}' could not be started: {why}", self.name);
                return Ok(failed(Code::Crashed, &error));
            }
        };
        if !ran.finished.stderr.bytes.is_empty() {
            tracing::debug!(tool = self.name, stderr = ran.finished.stderr.text());
        }
        let stopped = match ran.finished.end {
            _ if ran.is_too_long => None,
            End::TimedOut(_) => Some(Stopped::Deadline),
            End::Cancelled(_) => Some(ctx.stop_reason()),
            End::Exited(_) | End::Signaled(_) => None,
        };
        let envelope = self.envelope(&ran, ctx.stop_reason());
        Ok(Outcome {
            stopped,
            ..outcome(envelope, ran.finished.duration)
        })
    }
}
