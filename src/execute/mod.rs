//! Execution of a call, the same for every family and every surface.
//!
//! Only `dyn Runner` is used here, so the families are not known. The deadline requests the end of
//! the call through the call's own cancellation. The runner's progress becomes the events of the
//! call; the outcome is the return value.

mod approval;
mod spill;

use std::sync::Arc;
use std::time::Duration;

use approval::Approvers;
use approval::Gatekeeper;
pub(crate) use approval::approver_or_user;
use haft_tool::Error;
use haft_tool::deadline::CallDeadline;
use haft_tool::{
    ApprovalMemory, ApprovalPolicy, Approver, Call, CallCtx, CallRecording, CallTrace, CallerScope,
    Cancellation, Event, LateGrant, LogListener, McpClient, NestedCalls, Outcome, Runner, Stopped,
    Tool, TraceContext, Updates, User, UserInterface, queue, with_tool_name,
};
pub(crate) use spill::Spill;

/// Starter of calls of other tools as parts of a call, if its tool makes such calls.
pub(crate) type Parts = Option<Arc<dyn NestedCalls>>;

/// Conditions of a call besides the call itself.
pub(crate) struct CallPolicy<'a> {
    /// The scope of the caller.
    pub(crate) scope: Arc<CallerScope>,
    /// The call's timeout. The time that a user takes for an answer does not count.
    pub(crate) timeout: Option<Duration>,
    /// The call's own cancellation, which its deadline uses too.
    pub(crate) cancellation: Cancellation,
    /// The user's approval policy.
    pub(crate) policy: &'a ApprovalPolicy,
    /// The approver, if there is one. Without one, `ui` is asked.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Returns the user's answers about this tool that count for later calls; `None` if the tool
    /// has no file.
    pub(crate) approvals: &'a (dyn Fn() -> Option<Arc<dyn ApprovalMemory>> + Sync),
    /// The user interface that the tool can use, if there is one.
    pub(crate) ui: Option<Arc<dyn UserInterface>>,
    /// The MCP client that makes the call, if one does.
    pub(crate) mcp_client: Option<Arc<McpClient>>,
    /// Set if the call is put into a queue of other hosts.
    pub(crate) is_queued: bool,
    /// The listener for the tool's log lines, if there is one.
    pub(crate) log: Option<Arc<dyn LogListener>>,
    /// The record of the call's actions, if the call is recorded.
    pub(crate) trace: Option<Arc<CallTrace>>,
    /// The recording of the call for a test, if it is recorded.
    pub(crate) recording: Option<Arc<CallRecording>>,
    /// Returns what starts calls of other tools as parts of this call; `None` if the tool makes
    /// none.
    pub(crate) nested: &'a (dyn Fn(&Call, &Updates) -> Parts + Sync),
    /// Notes accesses that the user grants too late for the call.
    pub(crate) late_grant: Option<Arc<LateGrant>>,
    /// The span of the call, or of its caller.
    pub(crate) span: Option<TraceContext>,
    /// Storage for texts that are too long.
    pub(crate) spill: &'a Spill,
    /// The limit of the text in bytes, if it differs from the limit of `spill`.
    pub(crate) text_limit: Option<usize>,
}

/// Runs `call` to its end and sends its events to `events`.
pub(crate) async fn execute(
    tool: &Arc<Tool>,
    runner: &dyn Runner,
    call: Call,
    terms: CallPolicy<'_>,
    events: queue::Sender<Event>,
) -> Result<Outcome, Error> {
    let deadline = terms
        .timeout
        .map(|timeout| Arc::new(CallDeadline::start(timeout)));
    let updates = Updates::new(events, deadline.clone()).noting_late_grants(terms.late_grant);
    let judges = Approvers {
        approver: terms.approver.as_ref(),
        ui: terms.ui.as_ref(),
        memory: terms.approvals,
    };
    let trace = terms.trace.clone();
    let gate = Gatekeeper::for_call(terms.policy, judges, tool, runner, &call, &updates, trace);
    let nested = (terms.nested)(&call, &updates);
    let mut ctx = CallCtx::within(terms.scope, terms.cancellation, updates);
    ctx.nested = nested;
    if let Some(gate) = gate {
        ctx = ctx.behind(gate);
    }
    ctx.log = terms.log;
    ctx.trace = terms.trace;
    ctx.recording = terms.recording;
    ctx.span = terms.span;
    ctx.mcp_client = terms.mcp_client;
    ctx.is_queued = terms.is_queued;
    ctx.auto_approve = terms.policy.auto_approves();
    // Dropped when the call ends for any reason, which withdraws its questions.
    let _withdraw = terms.ui.map(|ui| {
        let ended = ctx.cancel().child_token();
        let (id, name, updates) = (&call.id, &tool.name, ctx.updates.clone());
        ctx.user = Some(User::of_call(ui, id, name, ended.clone(), updates));
        ended.drop_guard()
    });

    let call_id = call.id.clone();
    let text_limit = match (runner.text_limit(&call), terms.text_limit) {
        (Some(own), Some(limit)) if limit > 0 => Some(own.min(limit)),
        (own, limit) => own.or(limit),
    };
    let mut result = match deadline {
        None => runner.run(call, ctx).await,
        Some(deadline) => {
            let running = runner.run(call, ctx.clone());
            in_time(running, &deadline, &ctx).await
        }
    };
    if let Ok(outcome) = &mut result {
        let shortened = terms
            .spill
            .shorten(outcome, text_limit, &call_id, &tool.name);
        shortened.await;
    }
    result.map_err(|error| {
        // The permissions of a tool do not contain its name.
        let hint = error.hint().map(|hint| with_tool_name(hint, &tool.name));
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    })
}

/// Waits for a call, and cancels it when its deadline has passed.
async fn in_time<T>(running: impl Future<Output = T>, deadline: &CallDeadline, ctx: &CallCtx) -> T {
    tokio::pin!(running);
    tokio::select! {
        biased;
        ended = &mut running => return ended,
        () = deadline.expired() => ctx.cancellation().request(Stopped::Deadline),
    }
    running.await
}
