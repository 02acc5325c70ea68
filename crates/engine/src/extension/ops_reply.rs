//! Replies of JavaScript to requests: twin of the `reply` function in `00_state.ts`.

use deno_core::OpState;
use deno_core::op2;

use super::host::{ReplyKind, host_of};

/// Answers the request `id`; see [`ReplyKind`] for `kind`.
#[op2(fast)]
pub fn op_haft_reply(state: &mut OpState, id: u32, #[smi] kind: u8, #[string] text: String) {
    let host = host_of(state);
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
    host_of(state).start(id)
}

/// Notes that built-ins were found changed; `what` says which. The module `module` ran last.
#[op2(fast)]
pub fn op_haft_built_ins_changed(state: &mut OpState, module: u32, #[string] what: &str) {
    host_of(state).built_ins_changed(module, what);
}
