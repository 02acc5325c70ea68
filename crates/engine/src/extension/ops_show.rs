//! `pi.ui.custom`: twin of `12_custom.ts`. The call determines the screen.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;

use super::host::host_of;

/// Returns the canvas for components of the call `request`, as JSON; empty if there is none.
#[op2]
#[string]
pub fn op_haft_show_canvas(state: &mut OpState, request: u32, #[string] owner: &str) -> String {
    let host = host_of(state);
    host.noticed("it looks for a screen", false);
    host.callers().canvas(request, owner)
}

/// Shows the component `id`; ends when it is hidden again.
#[op2]
pub async fn op_haft_show(
    state: Rc<RefCell<OpState>>,
    request: u32,
    #[string] owner: String,
    id: u32,
) -> Result<(), JsErrorBox> {
    let host = host_of(&state.borrow());
    let shown = host.callers().show(request, &owner, id);
    shown.await.map_err(JsErrorBox::generic)
}

/// Returns the next input event of the component `id`, as JSON; empty after the last one.
#[op2]
#[string]
pub async fn op_haft_show_touch(state: Rc<RefCell<OpState>>, id: u32) -> String {
    let host = host_of(&state.borrow());
    let touch = host.callers().next_touch(id);
    touch.await
}

/// Sets the content of the component `id`.
#[op2(fast)]
pub fn op_haft_show_paint(state: &mut OpState, id: u32, #[string] lines: String) {
    host_of(state).callers().paint(id, lines);
}
