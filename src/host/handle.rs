//! Options of a handle: approver, user interface, approval policy, log listener, origin of the
//! calls.

use std::sync::Arc;

use super::Host;
use super::call_log::CallOrigin;
use super::span::CallSource;
use crate::audit::AuditLog;
use crate::execute::approver_or_user;
use crate::registry::Entry;
use haft_engine::{LeftOutCall, Script, ScriptLimits, ScriptSource};
use haft_tool::{
    ApprovalPolicy, Approver, CallRecording, CallTrace, CallerScope, LogListener, McpClient,
    Outcome, UserInterface,
};

/// Options of a handle.
#[derive(Clone)]
pub(super) struct HandleOptions {
    /// The tools that exist for the callers of the handle.
    pub(super) scope: Arc<CallerScope>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) ui: Option<Arc<dyn UserInterface>>,
    /// Approval policy instead of the configured one.
    pub(super) approval: Option<Arc<ApprovalPolicy>>,
    pub(super) log: Option<Arc<dyn LogListener>>,
    /// Maximum text of a result in bytes instead of the configured limit; 0: no limit.
    pub(super) text_limit: Option<usize>,
    /// Origin of the handle's calls, as the logs name it.
    pub(super) origin: Arc<CallOrigin>,
    /// Audit log of the handle's calls; `None`: they are not recorded.
    pub(super) audit: Option<AuditLog>,
    /// Tools that only calls of the handle find.
    pub(super) tools: Option<Arc<dyn HandleTools>>,
    /// Number of calls of which the handle's calls are parts, one within the other.
    pub(super) depth: u32,
    /// Trace in which the handle's calls note their programs and hosts.
    pub(super) trace: Option<Arc<CallTrace>>,
    /// Recording of the handle's call, for a test.
    pub(super) recording: Option<Arc<CallRecording>>,
    /// The request that the handle's calls answer.
    pub(super) source: Option<Arc<CallSource>>,
    /// The MCP client that makes the handle's calls.
    pub(super) mcp_client: Option<Arc<McpClient>>,
    /// Set if the handle's calls are put into a queue of other hosts.
    pub(super) is_queueing: bool,
}

impl HandleOptions {
    /// Returns the options of the user's own handle.
    pub(super) fn of_user() -> HandleOptions {
        HandleOptions {
            scope: Arc::new(CallerScope::user()),
            approver: None,
            ui: None,
            approval: None,
            log: None,
            text_limit: None,
            origin: Arc::default(),
            audit: None,
            tools: None,
            depth: 0,
            trace: None,
            recording: None,
            source: None,
            mcp_client: None,
            is_queueing: false,
        }
    }
}

/// Tools that only calls of one handle find, before those of the catalog.
pub(crate) trait HandleTools: Send + Sync {
    /// Returns the tool of that name, which runs with `host`.
    fn find(self: Arc<Self>, host: &Host, name: &str) -> Option<Arc<Entry>>;
}

impl Host {
    /// Returns a handle of the same host, whose calls find `tools` before those of the catalog.
    pub(crate) fn with_tools(&self, tools: Arc<dyn HandleTools>) -> Host {
        let mut host = self.clone();
        host.options.tools = Some(tools);
        host
    }

    /// Returns a handle of the same host without tools of its own, for the calls of such a tool.
    pub(crate) fn without_tools(&self) -> Host {
        let mut host = self.clone();
        host.options.tools = None;
        host
    }

    /// Returns the approval policy of the handle.
    pub(crate) fn approval_policy(&self) -> &ApprovalPolicy {
        let own = self.options.approval.as_deref();
        own.unwrap_or(&self.inner.config.approval)
    }

    /// Returns the approver of the handle's calls: its own, or else the user of its interface.
    pub(crate) fn approver(&self) -> Option<Arc<dyn Approver>> {
        let own = self.options.approver.as_ref();
        approver_or_user(own, self.user_interface().as_ref())
    }

    /// Returns the user interface of the handle's calls.
    pub(crate) fn user_interface(&self) -> Option<Arc<dyn UserInterface>> {
        let own = self.options.ui.clone();
        own.or_else(|| self.inner.default_user.get())
    }

    /// Leaves a running call out of the statistics that decide whether callers spin, while it only
    /// waits for calls of its own.
    pub(crate) fn waits_for_calls(&self) -> LeftOutCall {
        self.inner.call_spin.leave_out()
    }

    /// Starts what the first script would otherwise wait for.
    pub(crate) fn expect_scripts(&self) {
        self.inner.engine.expect_scripts();
    }

    /// Starts a script in the worker process for scripts.
    pub(crate) async fn run_script(&self, source: ScriptSource, limits: ScriptLimits) -> Script {
        self.inner.engine.run_script(source, limits).await
    }

    /// Returns a handle of the same host. Calls that start through it ask `approver` if the policy
    /// requires approval. Without an approver they ask the handle's user interface. Without both,
    /// such calls are refused.
    pub fn asking(&self, approver: Arc<dyn Approver>) -> Host {
        let mut host = self.clone();
        host.options.approver = Some(approver);
        host
    }

    /// Returns a handle of the same host. Tools that are called through it use the user interface
    /// `ui` (`pi.ui`, `ctx.ui`, `hasUI`), whatever other handles do at the same time.
    pub fn with_ui(&self, ui: Arc<dyn UserInterface>) -> Host {
        let mut host = self.clone();
        host.options.ui = Some(ui);
        host
    }

    /// Returns a handle of the same host. Calls that start through it follow `policy` instead of
    /// the configured one. Tools that the configured policy hides from lists stay hidden.
    pub fn with_approval(&self, mut policy: ApprovalPolicy) -> Host {
        let mut host = self.clone();
        let limits = [policy.max_tier, host.options.scope.max_tier()];
        policy.max_tier = limits.into_iter().flatten().min();
        host.options.approval = Some(Arc::new(policy));
        host
    }

    /// Returns a handle of the same host. `listener` receives the log messages of tools that are
    /// called through it (`pi.logger`, `console`). The log file receives them in any case.
    pub fn with_log(&self, listener: Arc<dyn LogListener>) -> Host {
        let mut host = self.clone();
        host.options.log = Some(listener);
        host
    }

    /// Returns a handle of the same host. Result text beyond `bytes` of calls that start through it
    /// goes to a file, whatever the configuration says. 0: no limit.
    pub(crate) fn with_text_limit(&self, bytes: usize) -> Host {
        let mut host = self.clone();
        host.options.text_limit = Some(bytes);
        host
    }

    /// Writes a long text of an outcome that another host has made to a file, as that of an own call.
    pub(crate) async fn shorten(&self, outcome: &mut Outcome, call_id: &str, tool: &str) {
        let limit = self.options.text_limit;
        self.inner
            .spill
            .shorten(outcome, limit, call_id, tool)
            .await;
    }

    /// Returns a handle of the same host, whose calls are put into the queue of the hosts that have the
    /// tool. Their outcome is the place in the queue. Calls of other tools are refused.
    pub(crate) fn queueing(&self) -> Host {
        let mut host = self.clone();
        host.options.is_queueing = true;
        host
    }

    /// Returns a handle of the same host, whose calls an MCP client makes.
    pub(crate) fn for_mcp_client(&self, client: Arc<McpClient>) -> Host {
        let mut host = self.clone();
        host.options.mcp_client = Some(client);
        host
    }

    /// Returns a handle of the same host. Its calls note the programs that they start, and the
    /// hosts that they connect to, in `trace`.
    pub(crate) fn traced_in(&self, trace: Arc<CallTrace>) -> Host {
        let mut host = self.clone();
        host.options.trace = Some(trace);
        host
    }

    /// Returns a handle of the same host for one call, which is recorded in `recording`.
    pub(crate) fn recording_in(&self, recording: Arc<CallRecording>) -> Host {
        let mut host = self.clone();
        host.options.trace.get_or_insert_default();
        host.options.recording = Some(recording);
        host
    }

    /// Returns the trace in which the handle's calls note their programs and hosts.
    pub(crate) fn own_trace(&self) -> Option<&CallTrace> {
        self.options.trace.as_deref()
    }

    /// Sets the user interface for calls of handles without [`Host::with_ui`], and for modules
    /// outside of calls. It takes effect at once for all handles. `None`, the initial value: no
    /// user interface.
    pub fn set_default_ui(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.inner.default_user.set(ui);
    }
}
