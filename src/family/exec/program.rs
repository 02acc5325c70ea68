//! Programs whose result is the text that they print: parsing of what they describe, and their calls.
//!
//! Amp's toolboxes and Gemini CLI's commands have this in common.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::verified::Refused;
use super::{MAX_GRACE, arguments, spawn_error};
use crate::family::ListingFolder;
use crate::family::listing_folder::IN_EMPTY_FOLDER;
use crate::family::rights::Confinement;
use haft_config::{Config, format_duration};
use haft_discover::Candidate;
use haft_process::{Captured, End, Finished, Keep, Spawn, Stdin};
use haft_tool::schema::Schema;
use haft_tool::{ApprovalRequirement, Call, CallCtx, Outcome, Runner, Stopped, Tier, ToolBounds};
use haft_tool::{Block, Error, ErrorKind, Problem, TRUST_HINT};

/// Timeout of a description. Some tools are scripts of a language that starts slowly.
pub(super) const DESCRIBING: Duration = Duration::from_secs(10);

/// Limit of a description's length in bytes.
const MAX_DESCRIPTION_LEN: usize = 10 << 20;

/// Limit of each output of a call in bytes.
const MAX_OUTPUT_LEN: usize = 16 << 20;

/// The longest name that providers allow, less the prefix of Amp's.
const MAX_NAME_LEN: usize = 60;

/// Reason why a description cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("{0}")]
    Failed(String),
    #[error("it printed no JSON: {0}")]
    NotJson(String),
    #[error("it printed a line that is not `key: value`: {0:?}")]
    BadLine(String),
    #[error("it has no name")]
    NoName,
    #[error("the name {0:?} cannot be used: 1 to {MAX_NAME_LEN} letters, digits, `_` and `-`")]
    BadName(String),
    #[error("invalid schema of the arguments: {0}")]
    BadSchema(&'static str),
}

/// Completes the process that asks for a description.
pub(super) fn question(spawn: Spawn) -> Spawn {
    Spawn {
        stdout: Keep::Head(MAX_DESCRIPTION_LEN),
        stderr: Keep::Head(64 << 10),
        deadline: Some(DESCRIBING),
        ..spawn
    }
}

/// Returns what a program printed that ended well.
pub(super) fn answer(finished: &Finished) -> Result<String, Unusable> {
    let failed = |how: String| Unusable::Failed(format!("{how}{}", spawn_error::said(finished)));
    match finished.end {
        End::Exited(0) => {}
        End::TimedOut(_) => {
            let limit = format_duration(DESCRIBING);
            return Err(failed(format!("it timed out after {limit}")));
        }
        End::Cancelled(_) => return Err(failed("it was cancelled".to_owned())),
        end => {
            return Err(failed(format!(
                "it ended with exit code {}",
                end.shell_code()
            )));
        }
    }
    if finished.stdout.dropped > 0 {
        let most = MAX_DESCRIPTION_LEN >> 20;
        return Err(Unusable::Failed(format!("it printed more than {most} MiB")));
    }
    Ok(finished.stdout.text())
}

/// Returns the name if providers take it.
pub(super) fn name(name: &str) -> Result<String, Unusable> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match name {
        "" => Err(Unusable::NoName),
        name if name.len() > MAX_NAME_LEN || !name.chars().all(plain) => {
            Err(Unusable::BadName(name.to_owned()))
        }
        name => Ok(name.to_owned()),
    }
}

/// Returns a schema of an object; one without a type gets it.
pub(super) fn object_schema(mut schema: Map<String, Value>) -> Result<Value, Unusable> {
    let kind = schema.entry("type").or_insert_with(|| "object".into());
    if kind != "object" {
        return Err(Unusable::BadSchema("its type is not `object`"));
    }
    schema
        .entry("properties")
        .or_insert_with(|| Map::new().into());
    Ok(Value::Object(schema))
}

/// Form in which a program reads its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputForm {
    /// One JSON object.
    Json,
    /// A line `key: value` for each argument.
    Lines,
}

impl InputForm {
    /// Returns the input for these arguments, which are a JSON object.
    fn input(self, text: String, arguments: &Value) -> Result<String, String> {
        if self == InputForm::Json {
            return Ok(text);
        }
        let mut lines = String::new();
        for (key, value) in arguments.as_object().into_iter().flatten() {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // A second line would be another argument.
            if value.contains(['\n', '\r']) || key.contains(['\n', '\r', ':']) {
                return Err(format!(
                    "`{key}` has several lines, and this tool reads its arguments as lines \
                     `key: value`"
                ));
            }
            lines.push_str(&format!("{key}: {value}\n"));
        }
        Ok(lines)
    }
}

/// Start of a program for one call of a tool.
pub(super) struct ProgramCall {
    pub(super) spawn: Spawn,
    pub(super) form: InputForm,
    pub(super) schema: Schema,
    /// The choice of the folder, for commands of the user's settings.
    pub(super) listing: Option<ListingFolder>,
}

/// Starts a fresh process for every call.
pub(super) struct ProgramRunner {
    call: ProgramCall,
    candidate: Candidate,
    confinement: Confinement,
    refused: Refused,
}

impl ProgramRunner {
    pub(super) fn new(
        candidate: &Candidate,
        call: ProgramCall,
        config: &Config,
        confinement: Confinement,
    ) -> Self {
        let grace = config.limits_of(candidate.bounds_level()).grace;
        let spawn = Spawn {
            stdout: Keep::Head(MAX_OUTPUT_LEN),
            stderr: Keep::Head(MAX_OUTPUT_LEN),
            grace,
            timeout_grace: grace.min(MAX_GRACE),
            ..call.spawn
        };
        ProgramRunner {
            call: ProgramCall { spawn, ..call },
            candidate: candidate.clone(),
            confinement,
            refused: Refused::of(candidate),
        }
    }

    /// Returns the input of the program. The error has everything that is wrong with the arguments.
    fn input(&self, call: &Call) -> Result<String, Error> {
        let invalid = |why: String| Error::new(ErrorKind::BadArguments, why);
        let text = arguments::object(&call.arguments)
            .map_err(|why| invalid(format!("invalid JSON input: {why}")))?;
        let value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        self.call.schema.check(&call.tool, &value)?;
        self.call.form.input(text, &value).map_err(invalid)
    }

    /// Returns the result of a finished run.
    fn outcome(&self, finished: &Finished, why_stopped: Stopped) -> Outcome {
        let printed = kept(&finished.stdout);
        let how = match finished.end {
            End::Exited(0) => return success(printed, finished.duration),
            End::Exited(code) => format!("exit code {code}"),
            End::Signaled(_) => format!("exit code {}", finished.end.shell_code()),
            End::TimedOut(_) => "timed out".to_owned(),
            End::Cancelled(_) if why_stopped == Stopped::Deadline => "timed out".to_owned(),
            End::Cancelled(_) => "cancelled".to_owned(),
        };
        let said = kept(&finished.stderr);
        let texts = [said.trim(), printed.trim()];
        let mut text: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        let how = format!("the tool failed: {how}");
        text.push(&how);
        let note = self
            .confinement
            .note_of(finished, self.call.spawn.cwd.as_deref());
        text.extend(note.as_deref());
        Outcome::failure(text.join("\n"), finished.duration)
    }
}

fn untrusted(problem: &Problem) -> Error {
    let error = Error::new(ErrorKind::Untrusted, problem.message.clone());
    error.with_hint(TRUST_HINT)
}

fn success(text: String, duration: Duration) -> Outcome {
    Outcome {
        content: vec![Block::text(text)],
        is_error: false,
        ..Outcome::failure("", duration)
    }
}

fn kept(output: &Captured) -> String {
    let mut text = output.text();
    if output.dropped > 0 {
        let most = MAX_OUTPUT_LEN >> 20;
        text.push_str(&format!(
            "\n[{} bytes after {most} MiB are not here]",
            output.dropped
        ));
    }
    text
}

#[async_trait]
impl Runner for ProgramRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.input(call).map(drop)
    }

    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.confinement.bounds.clone())
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let input = self.input(&call)?;
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(Tier::Exec)).await? {
            return Ok(Outcome::not_started(why));
        }
        let spawn = Spawn {
            stdin: Stdin::Bytes(input.into_bytes()),
            force_token: Some(ctx.force_token()),
            ..self.call.spawn.clone()
        };
        let listing = self.call.listing.as_ref().map(ListingFolder::again);
        let (spawn, is_restricted) = match &listing {
            Some(listing) => {
                let command = listing.command(&self.candidate, spawn);
                let command = command.map_err(|problem| untrusted(&problem))?;
                (command.clone().into_spawn(), command.is_restricted)
            }
            None => (spawn, false),
        };
        let finished = match spawn.run(ctx.cancel()).await {
            Ok(finished) => finished,
            Err(error) => {
                if let Some(error) = self.refused.error(&call.tool, &error) {
                    return Err(error);
                }
                let (why, _) =
                    spawn_error::explain(&error, self.call.spawn.program.name().as_ref());
                let text = format!("the tool could not be started: {why}");
                return Ok(Outcome::failure(text, Duration::ZERO));
            }
        };
        if matches!(finished.end, End::Exited(0)) && !finished.stderr.bytes.is_empty() {
            tracing::debug!(tool = call.tool, stderr = finished.stderr.text());
        }
        let stopped = match finished.end {
            End::TimedOut(_) => Some(Stopped::Deadline),
            End::Cancelled(_) => Some(ctx.stop_reason()),
            End::Exited(_) | End::Signaled(_) => None,
        };
        let mut outcome = self.outcome(&finished, ctx.stop_reason());
        if is_restricted && outcome.is_error {
            let note = format!("[haft: {IN_EMPTY_FOLDER}: {TRUST_HINT}]");
            outcome.content.push(Block::text(note));
        }
        Ok(Outcome { stopped, ..outcome })
    }
}
