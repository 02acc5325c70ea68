//! `pi.ui.custom`: twin of `12_custom.ts`. What is shown, and where, depends on the call.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;

use super::host::IsolateHost;

/// Where components can be shown for the call `request`, as JSON; empty if nowhere.
#[op2]
#[string]
pub fn op_haft_show_canvas(state: &mut OpState, request: u32, #[string] owner: &str) -> String {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.canvas(request, owner)
}

/// Shows the component `id`; ends when it is not shown any more.
#[op2]
pub async fn op_haft_show(
    state: Rc<RefCell<OpState>>,
    request: u32,
    #[string] owner: String,
    id: u32,
) -> Result<(), JsErrorBox> {
    let host = state.borrow().borrow::<Rc<dyn IsolateHost>>().clone();
    let shown = host.show(request, owner, id);
    shown.await.map_err(JsErrorBox::generic)
}

/// What comes next to the component `id`, as JSON; empty when nothing more comes.
#[op2]
#[string]
pub async fn op_haft_show_touch(state: Rc<RefCell<OpState>>, id: u32) -> String {
    let host = state.borrow().borrow::<Rc<dyn IsolateHost>>().clone();
    let touch = host.next_touch(id);
    touch.await
}

/// What the component `id` looks like now.
#[op2(fast)]
pub fn op_haft_show_paint(state: &mut OpState, id: u32, #[string] lines: String) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.paint(id, lines);
}
