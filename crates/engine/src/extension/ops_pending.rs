//! `pi.pushPendingAction`: twin of `16_pending.ts`. The host keeps the order over all isolates.

use deno_core::OpState;
use deno_core::op2;

use super::host::host_of;

/// Registers the pending action `id` as the newest; false if it could never be resolved.
#[op2(fast)]
pub fn op_haft_pending_push(state: &mut OpState, id: u32, #[string] label: &str) -> bool {
    let host = host_of(state);
    host.noticed("it leaves an action pending", true);
    host.callers().push_pending(id, label)
}

/// Removes the pending action `id`.
#[op2(fast)]
pub fn op_haft_pending_done(state: &mut OpState, id: u32) {
    host_of(state).callers().pending_done(id);
}
