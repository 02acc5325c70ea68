//! What JavaScript notices about a module that loads: twin of `09_witness.ts`.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::IsolateHost;

/// The module that loads changed the global object under a registered symbol (`Symbol.for`).
#[op2(fast)]
pub fn op_haft_noticed_symbol(state: &mut OpState) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.noticed_symbol();
}

/// The module that loads did something that others must not be told from memory. `is_trace`: the
/// modules that load later can see it.
#[op2(fast)]
pub fn op_haft_noticed(state: &mut OpState, #[string] what: &str, is_trace: bool) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.noticed(what, is_trace);
}
