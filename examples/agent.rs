//! An agent in one file: a model, a tool of the program itself, and the tools that people wrote.
//!
//! `cargo run --features examples --example agent -- PROJECT` runs it in a project's directory. The
//! model is a script, so it needs no network; a real model would replace it.

#![allow(
    clippy::disallowed_macros,
    reason = "a program of its own prints as it likes"
)]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::approval::{ApprovalMode, ApprovalRequest, Approver, Decision};
use haft::{
    Call, CustomTool, Error, Event, Host, HostBuilder, Invocation, Tier, ToolOutput, TrustPolicy,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The next action of the model.
pub enum Turn {
    /// A call of a tool.
    Call {
        tool: &'static str,
        arguments: Value,
    },
    /// The answer to the user; the agent is done.
    Say(&'static str),
}

/// A model that follows its script and ignores all messages.
pub struct ScriptedModel(VecDeque<Turn>);

impl ScriptedModel {
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
        ScriptedModel(turns.into_iter().collect())
    }

    /// A real model gets the messages and the tools and takes its time.
    async fn next(&mut self, _messages: &[Value], _tools: &[Value]) -> Turn {
        self.0.pop_front().unwrap_or(Turn::Say("I am done."))
    }
}

/// The parameters of `count_words`; the comments are what the model reads.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountWords {
    /// The file, relative to the project
    path: PathBuf,
    /// Words of fewer letters do not count
    #[serde(default)]
    at_least: usize,
}

/// A tool of this program: typed parameters, an update, a result with details.
fn count_words(project: &Path) -> CustomTool {
    let project = project.to_owned();
    CustomTool::new(
        "count_words",
        "Counts the words of a file",
        move |asked: CountWords, invocation: Invocation| {
            let path = project.join(&asked.path);
            async move {
                invocation.update(format!("reading {}", asked.path.display()));
                let text = tokio::fs::read_to_string(path).await?;
                let words = text.split_whitespace();
                let words = words.filter(|word| word.chars().count() >= asked.at_least);
                let count = words.count();
                // Any error will do for `Err`: its text becomes the result, marked as an error.
                Ok::<_, std::io::Error>(
                    ToolOutput::text(format!("{count} words"))
                        .with_details(json!({"count": count})),
                )
            }
        },
    )
    .label("Count words")
    .approval(Tier::Read)
}

/// An approver that allows every call and logs it.
struct Agreeable;

#[async_trait::async_trait]
impl Approver for Agreeable {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        tracing::info!(tool = request.tool, "allowed");
        Decision::Approved
    }
}

/// Configures the host of this agent; tests change its home before they build it.
pub fn host(project: &Path) -> HostBuilder {
    Host::builder()
        .cwd(project)
        // The user of this agent chose the project, with the tools that it brings.
        .trust(TrustPolicy::Always)
        .approval_mode(ApprovalMode::Write)
        .approver(Arc::new(Agreeable))
        .built_in_tool_names(["read", "edit"])
        .tool(count_words(project))
}

/// Runs the loop: asks the model, runs its calls, returns the results to it. Returns the
/// transcript.
pub async fn run(
    host: &Host,
    mut model: ScriptedModel,
    question: &str,
) -> Result<Vec<String>, Error> {
    let mut transcript = vec![format!("user: {question}")];
    let mut messages = vec![json!({"role": "user", "content": question})];
    let tools: Vec<Value> = host.catalog().await.tools().map(for_model).collect();
    for step in 1.. {
        let (tool, arguments) = match model.next(&messages, &tools).await {
            Turn::Call { tool, arguments } => (tool, arguments),
            Turn::Say(text) => {
                transcript.push(format!("model: {text}"));
                break;
            }
        };
        let call = Call::new(tool, arguments).with_id(format!("call_{step}"));
        transcript.push(format!("call: {tool} {}", call.arguments));
        let result = match answer(host, call, &mut transcript).await {
            Ok(text) => text,
            // Bad arguments, an unknown tool, a refusal by the user: the model may try something
            // else.
            Err(error) => format!("error: {error}"),
        };
        transcript.push(format!("result: {result}"));
        messages.push(json!({"role": "toolResult", "toolName": tool, "content": result}));
    }
    Ok(transcript)
}

/// Runs one call: records its updates as they come, then returns its outcome.
async fn answer(host: &Host, call: Call, transcript: &mut Vec<String>) -> Result<String, Error> {
    let mut running = host.call(call, None);
    let outcome = loop {
        match running.next_event().await {
            Event::Started => {}
            Event::Update(partial) => transcript.push(format!("update: {partial}")),
            Event::Finished(outcome) => break outcome?,
        }
    };
    let prefix = if outcome.is_error {
        "the tool failed: "
    } else {
        ""
    };
    Ok(format!("{prefix}{}", outcome.text()))
}

/// Describes a tool in the format that models expect.
fn for_model(tool: &haft::Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    })
}

fn main() -> Result<(), Error> {
    haft::run_worker_process();
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    runtime.block_on(serve_agent())
}

async fn serve_agent() -> Result<(), Error> {
    let project = std::env::args_os()
        .nth(1)
        .map_or_else(|| ".".into(), PathBuf::from);
    let host = host(&project).build()?;
    let model = ScriptedModel::new([
        Turn::Call {
            tool: "count_words",
            arguments: json!({"path": "README.md", "at_least": 4}),
        },
        Turn::Say("That is what I counted."),
    ]);
    let transcript = run(&host, model, "How long is the README?").await?;
    for line in transcript {
        println!("{line}");
    }
    host.shutdown().await;
    Ok(())
}
