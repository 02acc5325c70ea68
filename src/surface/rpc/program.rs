//! Tools of the peer itself: `tools/register`, and the calls of those tools.
//!
//! A registered tool is a closure of the host. It sends `program/call` to the peer and waits for the
//! reply, so approval, validation, deadlines and the size of results are as for all other tools.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::outgoing::{Answered, Outgoing};
use super::payload::{self, Answer, read};
use super::rpc_error::RpcError;
use crate::host::{CustomTool, Invocation, ToolOutput};
use crate::surface::wire::ProblemView;
use haft_tool::{Answer as UserAnswer, Block, Problem, Prompt, Stopped, Tier};

/// Number of unread bytes above which the peer's tools are not called: it has stopped reading.
const MAX_UNREAD: usize = 64 << 20;

/// The tools of one peer.
pub(super) struct Program {
    outgoing: Arc<Outgoing>,
    /// The running calls by the ids that the peer knows.
    running: Mutex<HashMap<String, Invocation>>,
}

/// Parameters of `tools/register`. Each tool is parsed for itself, so that an invalid one does not
/// affect the others.
#[derive(Deserialize)]
struct Register {
    tools: Vec<Box<RawValue>>,
}

/// A tool as the peer declares it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declared {
    name: String,
    label: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
    output_schema: Option<Value>,
    approval: Option<Tier>,
    timeout_ms: Option<u64>,
}

/// Result of `tools/register`.
#[derive(Serialize)]
pub(super) struct RegisteredView<'a> {
    pub(super) tools: &'a [String],
    pub(super) problems: Vec<ProblemView<'a>>,
}

/// Parameters of `program/call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    call_id: &'a str,
    name: &'a str,
    arguments: &'a RawValue,
}

/// Parameters of `program/cancel`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CancelParams<'a> {
    call_id: &'a str,
    reason: &'static str,
}

/// Parameters of `program/update`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateParams {
    call_id: String,
    partial_result: ResultView,
}

/// Parameters of `program/ask`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskParams {
    call_id: String,
    timeout_ms: Option<u64>,
    #[serde(flatten)]
    what: Question,
}

#[derive(Deserialize)]
#[serde(tag = "method", rename_all = "camelCase")]
enum Question {
    Select {
        title: String,
        options: Vec<String>,
    },
    Confirm {
        title: String,
        #[serde(default)]
        message: String,
    },
    Input {
        title: String,
        placeholder: Option<String>,
    },
    Editor {
        title: String,
        prefill: Option<String>,
    },
}

/// A result of the peer's tool, final or partial.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultView {
    content: Vec<Block>,
    #[serde(default)]
    details: Value,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    useless: bool,
}

/// Arguments as the caller wrote them, so that numbers keep their digits.
#[derive(Deserialize)]
#[serde(transparent)]
struct Arguments(Box<RawValue>);

impl JsonSchema for Arguments {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// Guard of a running call, which receives updates and questions while it exists.
struct RunningCall<'a> {
    program: &'a Program,
    id: String,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.program.running.lock().remove(&self.id);
    }
}

impl Program {
    pub(super) fn new(outgoing: Arc<Outgoing>) -> Program {
        Program {
            outgoing,
            running: Mutex::default(),
        }
    }

    /// Parses the parameters of `tools/register`. Returns the tools, and the problems of those that
    /// could not be read.
    pub(super) fn declared(
        self: &Arc<Self>,
        params: Option<&RawValue>,
    ) -> Result<(Vec<CustomTool>, Vec<Problem>), RpcError> {
        let Register { tools: list } = read("tools/register", params)?;
        let (mut tools, mut problems) = (Vec::with_capacity(list.len()), Vec::new());
        for (index, declared) in list.iter().enumerate() {
            match serde_json::from_str(declared.get()) {
                Ok(declared) => tools.push(self.tool(declared)),
                Err(why) => {
                    let text = format!("tool {} of `tools/register` is invalid: {why}", index + 1);
                    problems.push(Problem::error(text));
                }
            }
        }
        Ok((tools, problems))
    }

    fn tool(self: &Arc<Self>, declared: Declared) -> CustomTool {
        let (program, name) = (Arc::clone(self), Arc::<str>::from(declared.name.as_str()));
        let call = move |arguments: Arguments, invocation: Invocation| {
            let (program, name) = (program.clone(), name.clone());
            async move { program.call(&name, &arguments.0, invocation).await }
        };
        let description = declared.description.unwrap_or_default();
        let parameters = declared.parameters;
        let parameters = parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        let mut tool = CustomTool::new(declared.name, description, call).parameters(parameters);
        if let Some(label) = declared.label {
            tool = tool.label(label);
        }
        if let Some(schema) = declared.output_schema {
            tool = tool.output_schema(schema);
        }
        if let Some(tier) = declared.approval {
            tool = tool.approval(tier);
        }
        // 0 would end each call before its start.
        if let Some(timeout) = declared.timeout_ms.filter(|&ms| ms > 0) {
            tool = tool.timeout(Duration::from_millis(timeout));
        }
        tool
    }

    /// Calls a tool of the peer. The error is the text of a failed result.
    async fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        invocation: Invocation,
    ) -> Result<ToolOutput, String> {
        let unread = self.outgoing.unread();
        if unread > MAX_UNREAD {
            let unread = unread >> 20;
            return Err(format!(
                "the program that offers `{name}` does not read: {unread} MB wait for it"
            ));
        }
        let running = self.enter(&invocation);
        let params = CallParams {
            call_id: &running.id,
            name,
            arguments,
        };
        let ended = || format!("the program that offers `{name}` ended before it answered");
        let mut pending = self.outgoing.call(params).ok_or_else(ended)?;
        let answered = tokio::select! {
            biased;
            answered = pending.reply() => answered,
            () = invocation.cancelled() => {
                let reason = invocation.stop_reason().unwrap_or(Stopped::Cancelled);
                let params = CancelParams {
                    call_id: &running.id,
                    reason: reason_text(reason),
                };
                self.outgoing.tell("program/cancel", params);
                // The host drops this future at the end of the grace period.
                pending.reply().await
            }
        };
        output(name, answered.ok_or_else(ended)?)
    }

    /// Registers a running call under its caller's id, or under a similar one if that is taken:
    /// callers of different surfaces may use the same ids.
    fn enter(&self, invocation: &Invocation) -> RunningCall<'_> {
        let mut running = self.running.lock();
        let mut id = invocation.call_id().to_owned();
        let mut number = 1;
        while running.contains_key(&id) {
            number += 1;
            id = format!("{}#{number}", invocation.call_id());
        }
        running.insert(id.clone(), invocation.clone());
        RunningCall { program: self, id }
    }

    /// `program/update`: forwards a partial result.
    pub(super) fn update(&self, params: Option<&RawValue>) -> Answer {
        let UpdateParams {
            call_id,
            partial_result,
        } = read("program/update", params)?;
        self.running_call(&call_id)?.update(partial_result);
        Ok(payload::null())
    }

    /// `program/ask`: asks the user of a running call.
    pub(super) fn ask(
        &self,
        params: Option<&RawValue>,
    ) -> Result<impl Future<Output = Answer> + Send + 'static, RpcError> {
        let AskParams {
            call_id,
            timeout_ms,
            what,
        } = read("program/ask", params)?;
        let invocation = self.running_call(&call_id)?;
        let timeout = timeout_ms.map(Duration::from_millis);
        Ok(async move {
            // A dropped question is withdrawn.
            let answer = match timeout {
                Some(timeout) => tokio::time::timeout(timeout, invocation.ask(what.into())).await,
                None => Ok(invocation.ask(what.into()).await),
            };
            let value = match answer {
                Ok(UserAnswer::Text(text)) => Value::String(text),
                Ok(UserAnswer::Yes) => Value::Bool(true),
                Ok(UserAnswer::No) => Value::Bool(false),
                Ok(UserAnswer::Dismissed) | Err(_) => Value::Null,
            };
            payload::json(&json!({ "value": value }))
        })
    }

    fn running_call(&self, id: &str) -> Result<Invocation, RpcError> {
        let invocation = self.running.lock().get(id).cloned();
        invocation.ok_or_else(|| {
            let text = format!("no call `{id}` of a tool of this program is running");
            RpcError::invalid_params(text)
        })
    }
}

/// Converts the peer's reply to `program/call`.
fn output(name: &str, answered: Answered) -> Result<ToolOutput, String> {
    let result = answered?;
    let result: ResultView = serde_json::from_str(result.get())
        .map_err(|why| format!("the program's answer is not a result of `{name}`: {why}"))?;
    Ok(result.into())
}

/// Returns the `reason` of `program/cancel`.
fn reason_text(reason: Stopped) -> &'static str {
    match reason {
        Stopped::Deadline => "timed out",
        Stopped::Cancelled | Stopped::Discarded => "cancelled",
        Stopped::HostShutdown => "shutting down",
    }
}

impl From<ResultView> for ToolOutput {
    fn from(result: ResultView) -> ToolOutput {
        ToolOutput {
            content: result.content,
            details: result.details,
            is_error: result.is_error,
            useless: result.useless,
        }
    }
}

impl From<Question> for Prompt {
    fn from(question: Question) -> Prompt {
        match question {
            Question::Select { title, options } => Prompt::Select { title, options },
            Question::Confirm { title, message } => Prompt::Confirm { title, message },
            Question::Input { title, placeholder } => Prompt::Input { title, placeholder },
            Question::Editor { title, prefill } => Prompt::Editor { title, prefill },
        }
    }
}
