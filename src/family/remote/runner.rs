//! Calls one tool of other hosts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::RemoteHosts;
use crate::family::pinned;
use haft_mcp::{Standing, ToolDefinition};
use haft_nats::RemoteCall;
use haft_tool::{ApprovalRequirement, Call, CallCtx, Outcome, Runner, Tier};
use haft_tool::{Error, ErrorKind};

/// Runs the tool of other hosts.
pub(super) struct RemoteRunner {
    hosts: Arc<RemoteHosts>,
    /// The hosts' name for the tool.
    tool: String,
    /// Hash of the trusted definition.
    digest: String,
    standing: Standing,
    tier: Tier,
    is_idempotent: bool,
}

impl RemoteRunner {
    pub(super) fn new(
        hosts: &Arc<RemoteHosts>,
        trusted: &ToolDefinition,
        tier: Tier,
        standing: Standing,
    ) -> RemoteRunner {
        RemoteRunner {
            hosts: hosts.clone(),
            tool: trusted.name.clone(),
            digest: trusted.digest(),
            standing,
            tier,
            is_idempotent: trusted.is_idempotent(),
        }
    }

    /// Returns the error of a call whose tool is not the trusted one.
    fn changed(&self, name: &str) -> Error {
        let remote = self.hosts.name();
        let text = format!("`{name}` of the remote `{remote}` changed since you trusted it");
        let hint = format!("`haft trust remote:{remote}` shows what is different, and asks");
        Error::new(ErrorKind::Untrusted, text).with_hint(hint)
    }

    fn checked(&self, call: &Call) -> Result<(), Error> {
        pinned::check_call(&self.standing, call, |name| self.changed(name))
    }
}

#[async_trait]
impl Runner for RemoteRunner {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.checked(call)
    }

    fn timeout(&self) -> Option<Duration> {
        self.hosts.timeout()
    }

    async fn run(&self, call: Call, mut ctx: CallCtx) -> Result<Outcome, Error> {
        self.checked(&call)?;
        let prefix = self.hosts.rules().prefix.as_deref().unwrap_or_default();
        ctx.scope = Arc::new(ctx.scope.for_host(prefix, &self.tool));
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(self.tier)).await? {
            return Ok(Outcome::not_started(why));
        }
        if let Some(url) = self.hosts.url() {
            let mut url = url.clone();
            // An address with a host can have both.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            ctx.connects(&url);
        }
        let name = call.tool;
        let remote = RemoteCall {
            tool: &self.tool,
            digest: &self.digest,
            arguments: call.arguments,
            is_idempotent: self.is_idempotent,
            timeout: ctx.time_left(),
        };
        if ctx.is_queued {
            let remote = RemoteCall {
                // The time of the call begins at its host.
                timeout: self.hosts.timeout(),
                ..remote
            };
            return self.hosts.put(&remote, &ctx).await;
        }
        let begun = Instant::now();
        let ended = self.hosts.fleet().call(remote, &ctx).await;
        match &ended {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                // The hosts may have other definitions by now.
                let listed = self.hosts.list_since(begun).await;
                let now = self.hosts.definitions();
                let now = now.as_ref().and_then(|now| now.tool(&self.tool));
                match now {
                    Some(now) if listed.is_ok() && now.digest() != self.digest => {
                        Err(self.changed(&name))
                    }
                    _ => ended,
                }
            }
            _ => ended,
        }
    }
}
