//! Calls of tools of the catalog: twin of `29_nested.ts`.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::host_of;

/// Starts a call as a part of the call `request`. `id` identifies it for the other ops.
#[op2(fast)]
pub fn op_haft_nested_start(
    state: &mut OpState,
    request: u32,
    id: u32,
    #[string] tool: &str,
    #[string] arguments: String,
) {
    let host = host_of(state);
    host.noticed("it calls a tool", false);
    host.callers().start_nested(request, id, tool, arguments);
}

/// Waits for the next event of a call, as JSON text.
#[op2]
#[string]
pub async fn op_haft_nested_next(state: Rc<RefCell<OpState>>, id: u32) -> String {
    let host = host_of(&state.borrow());
    host.callers().next_of_nested(id).await
}

/// Cancels a call.
#[op2(fast)]
pub fn op_haft_nested_cancel(state: &mut OpState, id: u32) {
    host_of(state).callers().cancel_nested(id);
}
