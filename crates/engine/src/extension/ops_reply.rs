//! Replies of JavaScript to requests: twin of the `reply` function in `00_state.ts`.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;

use super::host::{IsolateHost, ReplyKind};

/// Answers the request `id`; see [`ReplyKind`] for `kind`.
#[op2(fast)]
pub fn op_haft_reply(state: &mut OpState, id: u32, #[smi] kind: u8, #[string] text: String) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    let kind = ReplyKind::from_code(kind);
    host.reply(id, kind, text);
    if kind != ReplyKind::Update
        && let Some(permissions) = host.restored_permissions()
    {
        state.put(permissions);
    }
}

/// Returns true if the tool of the request `id`, whose arguments were accepted, may start.
#[op2(fast)]
pub fn op_haft_start(state: &mut OpState, id: u32) -> bool {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.start(id)
}

/// Notes that built-ins were found changed; `what` says which. The module `module` ran last.
#[op2(fast)]
pub fn op_haft_built_ins_changed(state: &mut OpState, module: u32, #[string] what: &str) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.built_ins_changed(module, what);
}
