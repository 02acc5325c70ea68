//! Calls one tool of a server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

use super::servers::Prepared;
use crate::family::pinned;
use haft_mcp::{CallInput, Definitions, Server, Standing, ToolDefinition, Unusable};
use haft_tool::schema::Schema;
use haft_tool::{
    ApprovalRequirement, Call, CallCtx, Outcome, Runner, ServedTool, Tier, ToolBounds,
};
use haft_tool::{Error, ErrorKind};

/// Runs the tool of one server.
pub(super) struct McpRunner {
    server: Arc<Server>,
    /// The server's name for the tool.
    tool: String,
    /// Hash of the trusted definition.
    digest: String,
    /// The newest definitions of the server among which the trusted one was found.
    checked: Mutex<Option<Arc<Definitions>>>,
    standing: Standing,
    tier: Tier,
    timeout: Option<Duration>,
    bounds: Arc<ToolBounds>,
    output_schema: Option<Value>,
    /// The output schema, compiled for the first result: listing does not need it. `None` also for
    /// one that is no JSON Schema.
    output: OnceLock<Option<Schema>>,
    url: Option<url::Url>,
}

impl McpRunner {
    pub(super) fn new(
        prepared: &Prepared,
        trusted: &ToolDefinition,
        tier: Tier,
        standing: Standing,
    ) -> McpRunner {
        McpRunner {
            server: prepared.server.clone(),
            tool: trusted.name.clone(),
            digest: trusted.digest(),
            checked: Mutex::default(),
            standing,
            tier,
            timeout: prepared.settings.timeout,
            bounds: prepared.confinement.bounds.clone(),
            output_schema: trusted.output_schema.clone(),
            output: OnceLock::new(),
            url: prepared.url.clone(),
        }
    }

    /// Returns the error of a call whose tool is not the trusted one.
    fn changed(&self, name: &str) -> Error {
        let server = self.server.name();
        let text = format!("`{name}` of the MCP server `{server}` changed since you trusted it");
        let hint = format!("`haft trust mcp:{server}` shows what is different, and asks");
        Error::new(ErrorKind::Untrusted, text).with_hint(hint)
    }

    /// Returns a failure in the place of a result that does not fit the tool's output schema, which
    /// strict clients refuse. A result without structured content is one of an older server.
    fn with_promised_structure(&self, outcome: Outcome) -> Outcome {
        let has_structure = (outcome.details.as_object()).is_none_or(|fields| !fields.is_empty());
        if outcome.is_error || !has_structure {
            return outcome;
        }
        let compile = || Schema::compile(self.output_schema.as_ref()?).ok();
        let Some(schema) = self.output.get_or_init(compile) else {
            return outcome;
        };
        let mismatches = schema.mismatches(&outcome.details);
        let Some(first) = mismatches.first() else {
            return outcome;
        };
        let text = format!(
            "the structured content of the MCP server `{}` does not fit its output schema at {}: {}",
            self.server.name(),
            first.path(),
            first.message
        );
        Outcome::failure(text, outcome.duration)
    }

    /// Checks that the tool is the trusted one, once for each list of the server: the hash of a
    /// definition takes longer than a small call.
    fn compare(&self, definitions: Arc<Definitions>, call: &Call) -> Result<(), Error> {
        let mut checked = self.checked.lock();
        if (checked.as_ref()).is_some_and(|known| Arc::ptr_eq(known, &definitions)) {
            return Ok(());
        }
        match definitions.tool(&self.tool) {
            Some(tool) if tool.digest() == self.digest => {
                *checked = Some(definitions);
                Ok(())
            }
            Some(_) => Err(self.changed(&call.tool)),
            None => {
                let server = self.server.name();
                let text = format!(
                    "the MCP server `{server}` has no tool `{}` any more",
                    self.tool
                );
                let hint = format!("`haft mcp refresh {server}` reads its list again");
                Err(Error::new(ErrorKind::Load, text).with_hint(hint))
            }
        }
    }

    fn checked(&self, call: &Call) -> Result<(), Error> {
        pinned::check_call(&self.standing, call, |name| self.changed(name))
    }
}

#[async_trait]
impl Runner for McpRunner {
    fn prepare_runner(&self) -> Option<BoxFuture<'_, ()>> {
        if self.standing != Standing::Trusted || self.server.is_ready() {
            return None;
        }
        Some(Box::pin(async {
            // The call reports a failure.
            let _ = self.server.connect().await;
        }))
    }

    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.checked(call)
    }

    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        Some(self.bounds.clone())
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        self.checked(&call)?;
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(self.tier)).await? {
            return Ok(Outcome::not_started(why));
        }
        if let Some(url) = &self.url {
            ctx.connects(url);
        }
        let _in_use = self.server.in_use();
        let connecting = self.server.connect();
        let connection = tokio::select! {
            biased;
            () = ctx.cancelled() => return Ok(Outcome::not_started(ctx.stop_reason())),
            connection = connecting => connection,
        };
        let connection = connection.map_err(|failure| {
            let unusable = Unusable(self.server.name(), failure);
            Error::new(ErrorKind::Load, unusable.to_string()).with_hint(unusable.hint())
        })?;
        self.compare(connection.definitions(), &call)?;
        let input = CallInput {
            tool: &self.tool,
            arguments: call.arguments,
        };
        if let Some(recording) = &ctx.recording {
            recording.serves(ServedTool {
                server: self.server.name().to_owned(),
                tool: self.tool.clone(),
                digest: self.digest.clone(),
            });
        }
        let outcome = connection.call(input, &ctx.recorded()).await?;
        Ok(self.with_promised_structure(outcome))
    }
}
