//! `fetch` in tests of tools: twin of `41_tape.ts`.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::IsolateHost;

/// What the tape has for a request: the JSON text of an answer or of a refusal, or nothing where the
/// world is to be asked. Request and answer are JSON text.
#[op2]
#[string]
pub fn op_haft_tape_play(state: &mut OpState, #[string] request: &str) -> String {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.tape_play(request)
}

/// What the world said.
#[op2(fast)]
pub fn op_haft_tape_keep(state: &mut OpState, #[string] request: &str, #[string] answer: &str) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.tape_keep(request, answer);
}
