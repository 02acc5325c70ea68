//! Runner of custom tools: validates the arguments, passes the gate, drives the closure to its end.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::Value;

use super::{Invocation, ToolOutput};
use haft_tool::Error;
use haft_tool::panic::{Caught, caught};
use haft_tool::schema::{Schema, object_of, refused};
use haft_tool::{Approval, ApprovalRequirement, Call, CallCtx, Outcome, Runner, Tier};

/// Future of a running tool; its output is `None` if it had to end before it started.
pub(super) type Running = Pin<Box<dyn Future<Output = Option<ToolOutput>> + Send>>;

/// A call whose parameters are read, ready to start.
pub(super) type Start = Box<dyn FnOnce(Invocation) -> Running + Send>;

/// Reads the text of arguments; the error says why they are not what the tool takes.
pub(super) type Handler = dyn Fn(&str) -> Result<Start, String> + Send + Sync;

/// Function that returns a tool's approval requirement for the arguments of one call.
pub(super) type StanceOf = dyn Fn(&Value) -> ApprovalRequirement + Send + Sync;

pub(super) struct CustomRunner {
    pub(super) name: String,
    pub(super) schema: Schema,
    /// The properties that may be left out.
    pub(super) optional: HashSet<String>,
    /// The parameters are `()`.
    pub(super) is_unit: bool,
    pub(super) handler: Arc<Handler>,
    pub(super) tier: Tier,
    pub(super) stance: Option<Arc<StanceOf>>,
    pub(super) grace: Duration,
    pub(super) timeout: Option<Duration>,
}

impl CustomRunner {
    /// Returns the arguments, and the call that is ready to start with them.
    fn prepare(&self, call: &Call) -> Result<(Value, Start), Error> {
        let mut fields = object_of(&self.name, &call.arguments)?;
        let given = fields.len();
        // Models write null for what they leave out.
        fields.retain(|name, value| !value.is_null() || !self.optional.contains(name));
        let is_changed = fields.len() != given;
        let arguments = Value::Object(fields);
        self.schema.check(&self.name, &arguments)?;
        let rewritten;
        let text = match call.arguments.get() {
            _ if self.is_unit => "null",
            "null" => "{}",
            _ if is_changed => {
                rewritten = arguments.to_string();
                &rewritten
            }
            // The original text, so that numbers keep all their digits.
            text => text,
        };
        // A `Deserialize` that is written by hand may panic.
        let read = caught(|| (self.handler)(text)).and_then(|read| read);
        match read {
            Ok(start) => Ok((arguments, start)),
            Err(why) => Err(refused(&self.name, &why, &arguments)),
        }
    }

    fn stance(&self, arguments: &Value) -> ApprovalRequirement {
        let stance = self.stance.as_ref();
        let asked = stance.map(|stance| caught(|| stance(arguments)));
        match asked {
            Some(Ok(stance)) => stance,
            Some(Err(_)) => ApprovalRequirement::of_tier(Tier::Exec),
            None => ApprovalRequirement::of_tier(self.tier),
        }
    }

    fn failed(&self, panicked: &str, duration: Duration) -> Outcome {
        Outcome::failure(format!("Tool `{}` failed: {panicked}", self.name), duration)
    }
}

#[async_trait]
impl Runner for CustomRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.prepare(call).map(drop)
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn approval(&self) -> Approval<'_> {
        match self.stance {
            Some(_) => Approval::PerCall,
            None => Approval::ByTier,
        }
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let (arguments, start) = self.prepare(&call)?;
        let stance = self.stance(&arguments);
        drop(arguments);
        if let Some(why) = ctx.admit(stance).await? {
            return Ok(Outcome::not_started(why));
        }
        let started = Instant::now();
        let invocation = Invocation::new(call.id, ctx.clone());
        // Much of a closure's code may run before it returns its future.
        let mut running = match caught(|| start(invocation)) {
            Ok(running) => Caught::new(running),
            Err(panicked) => return Ok(self.failed(&panicked, started.elapsed())),
        };
        let ended = tokio::select! {
            biased;
            ended = &mut running => Some(ended),
            () = ctx.cancel().cancelled() => None,
        };
        let ended = match ended {
            Some(ended) => Some(ended),
            None => tokio::select! {
                biased;
                ended = &mut running => Some(ended),
                () = ctx.cancellation().grace_period(self.grace) => None,
            },
        };
        // A tool that reacted to the cancellation may have ended in the same moment.
        let stopped = ctx.is_cancelled().then(|| ctx.stop_reason());
        let duration = started.elapsed();
        let outcome = match ended {
            Some(Ok(Some(output))) => output.into_outcome(duration),
            Some(Ok(None)) => return Ok(Outcome::not_started(ctx.stop_reason())),
            Some(Err(panicked)) => self.failed(&panicked, duration),
            None => Outcome::left_behind(&self.name, ctx.stop_reason(), duration),
        };
        Ok(Outcome { stopped, ..outcome })
    }
}
