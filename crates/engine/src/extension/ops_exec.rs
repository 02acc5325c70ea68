//! `pi.exec`: twin of `11_exec.ts`. The host starts and stops the programs.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::host_of;

/// Runs a program to its end on behalf of the call `call`; 0: outside of calls. Request and answer
/// are JSON text.
#[op2]
#[string]
pub async fn op_haft_exec(
    state: Rc<RefCell<OpState>>,
    id: u32,
    call: u32,
    #[string] request: String,
) -> String {
    let host = host_of(&state.borrow());
    host.exec(id, call, request).await
}

/// Stops the program `id`.
#[op2(fast)]
pub fn op_haft_exec_abort(state: &mut OpState, id: u32) {
    host_of(state).abort_exec(id);
}
