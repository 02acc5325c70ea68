//! `pi.pushPendingAction`: twin of `16_pending.ts`. The host keeps the order over all isolates.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::IsolateHost;

/// Registers the pending action `id` as the newest; false if it could never be resolved.
#[op2(fast)]
pub fn op_haft_pending_push(state: &mut OpState, id: u32, #[string] label: &str) -> bool {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.push_pending(id, label)
}

/// Removes the pending action `id`.
#[op2(fast)]
pub fn op_haft_pending_done(state: &mut OpState, id: u32) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.pending_done(id);
}
