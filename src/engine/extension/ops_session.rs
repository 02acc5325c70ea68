//! `ctx.sessionManager` and its kin: twin of `15_context.ts`. The session itself is the host's.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::IsolateHost;

/// The JSON of the session as it is now; empty if it is what this isolate has read last.
#[op2]
#[string]
pub fn op_haft_session(state: &mut OpState) -> String {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.session()
}

/// Whether the agent is idle.
#[op2(fast)]
pub fn op_haft_session_idle(state: &mut OpState) -> bool {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.is_idle()
}

/// Whether messages of the user wait.
#[op2(fast)]
pub fn op_haft_session_queued(state: &mut OpState) -> bool {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.has_queued_messages()
}

/// A tool wants the agent to stop what it does.
#[op2(fast)]
pub fn op_haft_session_abort(state: &mut OpState) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.abort_agent();
}
