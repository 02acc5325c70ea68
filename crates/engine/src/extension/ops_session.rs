//! `ctx.sessionManager` and related functions: twin of `15_context.ts`. The session belongs to the
//! host, the approval to the call.

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;

use super::host::host_of;

/// Returns the JSON of the current session; empty if it is unchanged since the isolate's last read.
#[op2]
#[string]
pub fn op_haft_session(state: &mut OpState) -> Result<String, JsErrorBox> {
    let host = host_of(state);
    host.noticed("it looks at the session", false);
    host.callers().session().map_err(JsErrorBox::generic)
}

/// Returns true if the agent is idle.
#[op2(fast)]
pub fn op_haft_session_idle(state: &mut OpState) -> Result<bool, JsErrorBox> {
    host_of(state)
        .callers()
        .is_idle()
        .map_err(JsErrorBox::generic)
}

/// Returns true if messages of the user are queued.
#[op2(fast)]
pub fn op_haft_session_queued(state: &mut OpState) -> Result<bool, JsErrorBox> {
    host_of(state)
        .callers()
        .has_queued_messages()
        .map_err(JsErrorBox::generic)
}

/// Returns true if calls like `request` run without approval.
#[op2(fast)]
pub fn op_haft_session_auto_approve(state: &mut OpState, request: u32, otherwise: bool) -> bool {
    host_of(state)
        .callers()
        .auto_approve(request)
        .unwrap_or(otherwise)
}

/// Requests that the agent stops.
#[op2(fast)]
pub fn op_haft_session_abort(state: &mut OpState) -> Result<(), JsErrorBox> {
    host_of(state)
        .callers()
        .abort_agent()
        .map_err(JsErrorBox::generic)
}
