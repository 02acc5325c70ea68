//! Tools of the program that embeds haft: Rust closures with typed parameters.
//!
//! The parameters' type gives the schema (schemars) and reads the arguments (serde), so a closure
//! never receives arguments that do not fit. A panic of a closure fails only its own call.

mod invocation;
mod output;
mod parameters;
mod runner;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Loaded;
use haft_discover::Candidate;
use haft_tool::panic;
use haft_tool::schema::Schema;
use haft_tool::{ApprovalRequirement, ClientHints, Family, Level, Runner, Source, Tier, Tool};
pub use invocation::Invocation;
pub use output::ToolOutput;
use runner::{CustomRunner, Handler, Running, StanceOf};

/// Provider id of these tools, and the placeholder for their path.
const PROVIDER: &str = "sdk";

/// A tool of the embedding program: a Rust closure that a model can call.
///
/// The closure gets an [`Invocation`] and its parameters, which are validated before. An `Ok`
/// becomes the result, an `Err` a result with `is_error`. It runs on the task that drives the call
/// and must not block; see [`CustomTool::blocking`] for work that does.
///
/// ```no_run,standalone_crate
#[doc = include_str!("../../../tests/it/examples/custom_tool.rs")]
/// ```
pub struct CustomTool {
    tool: Tool,
    is_unit: bool,
    handler: Arc<Handler>,
    stance: Option<Arc<StanceOf>>,
    timeout: Option<Duration>,
}

impl CustomTool {
    /// Creates an asynchronous tool. `P` is read from the arguments: an object, or `()` for a tool
    /// without parameters. Doc comments of `P` become the descriptions that the model reads.
    ///
    /// A call that is cancelled may go on for the host's grace period
    /// ([`Limits::grace`](crate::config::Limits::grace)); then its future is dropped.
    pub fn new<P, R, E, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> CustomTool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Into<ToolOutput>,
        E: Display,
        F: Fn(P, Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let start = move |arguments: &str| {
            let parameters: P = parameters::read(arguments)?;
            let handler = handler.clone();
            let start = move |invocation| -> Running {
                let running = handler(parameters, invocation);
                Box::pin(async move { Some(output::of(running.await)) })
            };
            Ok(Box::new(start) as runner::Start)
        };
        CustomTool::with_handler::<P>(name.into(), description.into(), Arc::new(start))
    }

    /// Creates a tool whose work blocks its thread: files, long computations, third-party
    /// libraries. Each call has a thread of tokio's blocking pool.
    ///
    /// Such a call cannot be taken off its thread: one that does not heed
    /// [`Invocation::is_cancelled`] is left behind when the grace period is over, and its result is
    /// thrown away.
    pub fn blocking<P, R, E, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> CustomTool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Into<ToolOutput>,
        E: Display,
        F: Fn(P, Invocation) -> Result<R, E> + Send + Sync + 'static,
    {
        let handler = Arc::new(handler);
        let start = move |arguments: &str| {
            let parameters: P = parameters::read(arguments)?;
            let handler = handler.clone();
            let start = move |invocation: Invocation| -> Running {
                let cancel = invocation.cancel_token();
                // Set once, either by the thread that starts the work or by the end of the call.
                let is_decided = Arc::new(AtomicBool::new(false));
                let starts = is_decided.clone();
                let work = move || output::of(handler(parameters, invocation));
                let mut working = tokio::task::spawn_blocking(move || {
                    (!starts.swap(true, Ordering::AcqRel)).then(|| panic::caught(work))
                });
                Box::pin(async move {
                    let ended = tokio::select! {
                        biased;
                        () = cancel.cancelled() => if !is_decided.swap(true, Ordering::AcqRel) { return None } else { (&mut working).await },
                        ended = &mut working => ended,
                    };
                    Some(match ended {
                        Ok(ended) => match ended? {
                            Ok(output) => output,
                            Err(panicked) => ToolOutput::error(panicked),
                        },
                        Err(error) => ToolOutput::error(format!("its thread was lost: {error}")),
                    })
                })
            };
            Ok(Box::new(start) as runner::Start)
        };
        CustomTool::with_handler::<P>(name.into(), description.into(), Arc::new(start))
    }

    fn with_handler<P: JsonSchema>(
        name: String,
        description: String,
        handler: Arc<Handler>,
    ) -> CustomTool {
        let (input_schema, is_unit) = parameters::schema_of::<P>();
        let source = Source {
            family: Family::Native,
            provider: PROVIDER.to_owned(),
            provider_name: "SDK".to_owned(),
            level: Level::Host,
            path: PathBuf::from(PROVIDER),
            plugin: None,
        };
        CustomTool {
            tool: Tool::new(name, description, input_schema, source),
            is_unit,
            handler,
            stance: None,
            timeout: None,
        }
    }

    /// Sets the title for people; the default is the name.
    pub fn label(mut self, label: impl Into<String>) -> CustomTool {
        self.tool.label = label.into();
        self
    }

    /// Sets the tier of every call: how much harm it may do. Without it the tier is [`Tier::Exec`].
    pub fn approval(mut self, tier: Tier) -> CustomTool {
        self.tool.approval = tier;
        self.stance = None;
        self
    }

    /// Sets a function that returns the tier of each call from its arguments. If it panics, the
    /// tier is [`Tier::Exec`].
    pub fn approval_for(
        mut self,
        stance: impl Fn(&Value) -> ApprovalRequirement + Send + Sync + 'static,
    ) -> CustomTool {
        self.tool.approval = Tier::Exec;
        self.stance = Some(Arc::new(stance));
        self
    }

    /// Replaces the schema that is derived from the Rust type: for tools whose parameters are a
    /// [`Value`]. Arguments must fit it and be readable as the type.
    pub fn parameters(mut self, schema: Value) -> CustomTool {
        self.tool.input_schema = schema;
        self
    }

    /// Sets the schema of the structured result in `details`.
    pub fn output<T: JsonSchema>(mut self) -> CustomTool {
        self.tool.output_schema = Some(parameters::schema_of::<T>().0);
        self
    }

    /// Sets the schema of the structured result in `details` as JSON.
    pub fn output_schema(mut self, schema: Value) -> CustomTool {
        self.tool.output_schema = Some(schema);
        self
    }

    /// Sets the deadline of calls that have none of their own, instead of the configured one.
    pub fn timeout(mut self, timeout: Duration) -> CustomTool {
        self.timeout = Some(timeout);
        self
    }

    /// Sets whether the schema may be made strict for providers that support it; `false` opts out.
    /// Arguments are checked in either case.
    pub fn strict(mut self, strict: bool) -> CustomTool {
        self.tool.strict = Some(strict);
        self
    }

    /// Adds tags, by which the user's rules may allow or refuse the tool.
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> CustomTool {
        self.tool.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Sets the author's hints for clients: when a call becomes a background task, how it is found.
    pub fn hints(mut self, hints: ClientHints) -> CustomTool {
        self.tool.hints = hints;
        self
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// Returns the tool as callers see it.
    pub(crate) fn definition(&self) -> &Tool {
        &self.tool
    }

    /// Checks the tool and returns its candidate and runner, or what is wrong with it. `grace` is
    /// the time that the host gives a call to end after it was asked to stop.
    pub(crate) fn load(self, grace: Duration) -> Result<(Candidate, Loaded), String> {
        let name = &self.tool.name;
        if name.is_empty() {
            return Err("a custom tool without a name".to_owned());
        }
        let is_object = self.tool.input_schema["type"] == "object";
        if !is_object {
            return Err(format!(
                "the parameters of the custom tool `{name}` are not an object"
            ));
        }
        let schema = Schema::compile(&self.tool.input_schema).map_err(|error| {
            format!("the schema of the custom tool `{name}` cannot be used: {error}")
        })?;
        let runner = CustomRunner {
            name: name.clone(),
            schema,
            optional: parameters::optional(&self.tool.input_schema),
            is_unit: self.is_unit,
            handler: self.handler,
            tier: self.tool.approval,
            stance: self.stance,
            grace,
            timeout: self.timeout,
        };
        Ok(loaded(self.tool, Arc::new(runner)))
    }
}

/// Returns a tool that is in no file, as a catalog takes it.
pub(crate) fn loaded(tool: Tool, runner: Arc<dyn Runner>) -> (Candidate, Loaded) {
    let candidate = Candidate {
        path: tool.source.path.clone(),
        resolved: tool.source.path.clone(),
        key: tool.name.clone(),
        source: tool.source.clone(),
        query: None,
        named_by_project: false,
        verified: None,
    };
    let loaded = Loaded {
        tools: vec![(Arc::new(tool), runner)],
        ..Loaded::default()
    };
    (candidate, loaded)
}
