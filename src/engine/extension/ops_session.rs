//! `ctx.sessionManager` and its kin: twin of `15_context.ts`. The session itself is the host's, what
//! is approved the call's.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;

use super::host::IsolateHost;

/// The JSON of the session as it is now; empty if it is what this isolate has read last.
#[op2]
#[string]
pub fn op_haft_session(state: &mut OpState) -> Result<String, JsErrorBox> {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.session().map_err(JsErrorBox::generic)
}

/// Whether the agent is idle.
#[op2(fast)]
pub fn op_haft_session_idle(state: &mut OpState) -> Result<bool, JsErrorBox> {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.is_idle().map_err(JsErrorBox::generic)
}

/// Whether messages of the user wait.
#[op2(fast)]
pub fn op_haft_session_queued(state: &mut OpState) -> Result<bool, JsErrorBox> {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.has_queued_messages().map_err(JsErrorBox::generic)
}

/// Whether calls like `request` run without a question.
#[op2(fast)]
pub fn op_haft_session_auto_approve(state: &mut OpState, request: u32, otherwise: bool) -> bool {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.auto_approve(request, otherwise)
}

/// A tool wants the agent to stop what it does.
#[op2(fast)]
pub fn op_haft_session_abort(state: &mut OpState) -> Result<(), JsErrorBox> {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.abort_agent().map_err(JsErrorBox::generic)
}
