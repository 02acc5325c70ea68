//! Tests of tools of MCP servers: cassettes with the answers of the server, which replay them
//! without it.
//!
//! A recording is the call as haft's callers see it: its updates, its log lines, the questions of the
//! server, its result. The definition of the tool is in it as a hash, so that a test of a definition
//! that is not trusted any more fails.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::definition::TestDefinition;
use super::replay::{Recorded, TestTape};
use super::scripted_user::user_answer;
use crate::host::Host;
use haft_config::Config;
use haft_tool::{
    ApprovalRequirement, Block, Call, CallCtx, Family, Level, LogLevel, LogLine, Outcome, Progress,
    Prompt, RecordedEvent, Runner, ServedTool, Source, Tier, Tool,
};
use haft_tool::{Error, ErrorKind};

/// Provider of the tools of a replay.
const PROVIDER: &str = "test";

/// Action of a server during a call, before its result.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Step {
    /// A partial result.
    Update(Value),
    /// A log line: level and text.
    Log(LogLevel, String),
    /// A question to the user, with the answer in the form of `ui`.
    Question { what: Prompt, answer: Value },
    /// A request to the program of the user, with its answer.
    Forwarded(Value),
}

/// The answer of a server to one call.
#[derive(Debug, Deserialize, Serialize)]
struct Answer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ServedResult>,
    /// The server refused the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServedResult {
    content: Vec<Block>,
    #[serde(default)]
    details: Value,
    #[serde(default)]
    is_error: bool,
}

/// Returns the cassette of one recorded call.
pub(super) fn cassette(
    recorded: &haft_tool::Recorded,
    (name, arguments): (&str, &Value),
    ended: &Result<Outcome, &Error>,
    tape: &TestTape,
) -> Vec<Recorded> {
    let Some(served) = &recorded.served else {
        return Vec::new();
    };
    let steps = recorded.events.iter().filter_map(|event| match event {
        RecordedEvent::Update(partial) => {
            Some(Step::Update(haft_tool::json::read(partial.get()).ok()?))
        }
        RecordedEvent::Log(level, text) => Some(Step::Log(*level, text.clone())),
        RecordedEvent::Question { what, answer } => Some(Step::Question {
            what: what.clone(),
            answer: user_answer(answer),
        }),
        RecordedEvent::Forwarded {
            method,
            params,
            answer,
        } => Some(Step::Forwarded(
            json!({"method": method, "params": params, "answer": answer}),
        )),
        RecordedEvent::Exchange { .. } | RecordedEvent::Unrepeatable(_) => None,
    });
    let (result, error) = match ended {
        Ok(outcome) => {
            let result = ServedResult {
                content: outcome.content.clone(),
                details: outcome.details.clone(),
                is_error: outcome.is_error,
            };
            (Some(result), None)
        }
        Err(error) => (None, Some(error.message().to_owned())),
    };
    let answer = Answer {
        steps: steps.collect(),
        result,
        error,
    };
    let asked = request(name, arguments, Some(served));
    vec![Recorded {
        answer: tape.portable(&json!(answer)),
        ..asked
    }]
}

/// Returns the request of a call in the form of recordings.
fn request(tool: &str, arguments: &Value, served: Option<&ServedTool>) -> Recorded {
    let mut mcp = json!({"tool": tool, "arguments": arguments});
    if let Some(served) = served {
        mcp["served"] = served.tool.as_str().into();
        mcp["definition"] = served.digest.as_str().into();
    }
    Recorded {
        exec: None,
        fetch: None,
        mcp: Some(mcp),
        answer: Value::Null,
    }
}

/// Returns a host whose tools answer as the server did when it was recorded.
pub(super) fn replaying(config: Config, test: &TestDefinition, tape: &Arc<TestTape>) -> Host {
    let names: BTreeSet<&String> = test
        .calls
        .iter()
        .filter_map(|it| it.tool.as_ref())
        .collect();
    let tools = names.into_iter().map(|name| {
        let source = Source {
            family: Family::Mcp,
            provider: PROVIDER.to_owned(),
            provider_name: PROVIDER.to_owned(),
            level: Level::Host,
            path: PathBuf::from(PROVIDER),
            plugin: None,
        };
        let schema = json!({"type": "object"});
        let tool = Tool {
            approval: Tier::Read,
            ..Tool::new(name.clone(), String::new(), schema, source)
        };
        let runner: Arc<dyn Runner> = Arc::new(ServedReplay(tape.clone()));
        (tool, runner)
    });
    Host::for_trial_of(config, tools.collect())
}

/// Returns the reasons for which recorded calls do not fit the definitions that are trusted now.
/// Servers that are not configured here have none. Starts nothing.
pub(super) async fn changes(config: &Config, server: &str, recorded: &[Recorded]) -> Vec<String> {
    let host = Host::for_one_call(config.clone());
    let states = host.mcp_servers().await.unwrap_or_default();
    host.kill().await;
    let Some(state) = states.iter().find(|state| state.name == server) else {
        return Vec::new();
    };
    let calls: BTreeSet<(&str, &str)> = recorded
        .iter()
        .filter_map(|one| one.mcp.as_ref())
        .filter_map(|mcp| Some((mcp["served"].as_str()?, mcp["definition"].as_str()?)))
        .collect();
    let changed = calls.into_iter().filter(|(tool, digest)| {
        let trusted = state.trusted_digest(tool);
        trusted.is_some_and(|trusted| trusted != *digest)
    });
    let texts = changed.map(|(tool, _)| {
        format!(
            "the definition of `{tool}` of the MCP server `{server}` changed since the call was recorded\n\
             hint: `haft trust mcp:{server}` shows the definition, `haft test --record` records the call again\n"
        )
    });
    texts.collect()
}

/// Answers calls from the recording of a test.
struct ServedReplay(Arc<TestTape>);

impl ServedReplay {
    /// Asks the user of the test. The rest of the recording holds only for the recorded answer.
    async fn ask(&self, what: Prompt, recorded: &Value, ctx: &CallCtx) -> Result<(), Error> {
        let title = what.title().to_owned();
        let given = match &ctx.user {
            Some(user) => user
                .ask(what, None)
                .await
                .unwrap_or(haft_tool::Answer::Dismissed),
            None => haft_tool::Answer::Dismissed,
        };
        let given = self.0.portable(&user_answer(&given));
        if given == *recorded {
            return Ok(());
        }
        let text = format!(
            "\"{title}\" was answered with {recorded} when the call was recorded, not {given}"
        );
        let hint = "`haft test --record` records the call again";
        Err(Error::new(ErrorKind::Load, text).with_hint(hint))
    }
}

#[async_trait]
impl Runner for ServedReplay {
    async fn check(&self, _call: &Call) -> Result<(), Error> {
        Ok(())
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let stance = ApprovalRequirement::of_tier(Tier::Read);
        if let Some(why) = ctx.admit(stance).await? {
            return Ok(Outcome::not_started(why));
        }
        let arguments: Value = haft_tool::json::read(call.arguments.get()).unwrap_or_default();
        let asked = request(&call.tool, &self.0.portable(&arguments), None);
        let Some(answer) = self.0.answer_to(&asked) else {
            // The test reports the request without an answer.
            return Err(Error::new(ErrorKind::Load, "this call was not recorded"));
        };
        let answer: Answer = serde_json::from_value(answer).map_err(|error| {
            Error::new(ErrorKind::Load, format!("the recording is broken: {error}"))
        })?;
        for step in answer.steps {
            match step {
                Step::Update(partial) => {
                    if let Ok(partial) = to_raw_value(&partial) {
                        ctx.updates.send(Progress::Partial(partial));
                    }
                }
                Step::Log(level, message) => {
                    if let Some(listener) = &ctx.log {
                        let tool = call.tool.clone();
                        listener.hear(LogLine {
                            level,
                            tool,
                            message,
                            context: None,
                        });
                    }
                }
                Step::Question { what, answer } => self.ask(what, &answer, &ctx).await?,
                Step::Forwarded(_) => {}
            }
        }
        match (answer.result, answer.error) {
            (Some(result), _) => Ok(Outcome {
                content: result.content,
                details: result.details,
                is_error: result.is_error,
                useless: false,
                duration: Duration::ZERO,
                stopped: None,
                display: None,
                kept_in: None,
                // A test sees its text.
                server_error: None,
            }),
            (None, error) => {
                let text = error.unwrap_or_default();
                Err(Error::new(ErrorKind::BadArguments, text))
            }
        }
    }
}
