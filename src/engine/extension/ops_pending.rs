//! `pi.pushPendingAction`: twin of `16_pending.ts`. The order over all isolates is the host's.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::IsolateHost;

/// Puts the action `id` on top of what waits; false where nothing could ever resolve it.
#[op2(fast)]
pub fn op_haft_pending_push(state: &mut OpState, id: u32, #[string] label: &str) -> bool {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.push_pending(id, label)
}

/// Takes the action `id` off.
#[op2(fast)]
pub fn op_haft_pending_done(state: &mut OpState, id: u32) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.pending_done(id);
}
