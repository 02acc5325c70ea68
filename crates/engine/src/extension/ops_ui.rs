//! `pi.ui` and `pi.hasUI`: twin of `12_ui.ts`. The call determines the user.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;

use super::host::host_of;

/// Returns true if the call `request` has a user who can answer prompts now.
#[op2(fast)]
pub fn op_haft_ui_has_user(state: &mut OpState, request: u32, #[string] owner: &str) -> bool {
    let host = host_of(state);
    let is_there = host.callers().has_user(request, owner);
    if is_there {
        // The module may describe itself differently when there is a user.
        host.noticed("it looks whether there is a user", false);
    }
    is_there
}

/// Shows a prompt to the user. Question and answer are JSON text.
#[op2]
#[string]
pub async fn op_haft_ui_ask(
    state: Rc<RefCell<OpState>>,
    request: u32,
    #[string] owner: String,
    id: u32,
    #[string] question: String,
) -> Result<String, JsErrorBox> {
    let host = host_of(&state.borrow());
    host.noticed("it asks the user", false);
    let answer = host.callers().ask_user(request, &owner, id, question);
    answer.await.map_err(JsErrorBox::generic)
}

/// Withdraws the prompt `id`.
#[op2(fast)]
pub fn op_haft_ui_withdraw(state: &mut OpState, id: u32) {
    host_of(state).callers().withdraw_question(id);
}

/// Shows a notification that needs no answer; JSON text.
#[op2(fast)]
pub fn op_haft_ui_tell(
    state: &mut OpState,
    request: u32,
    #[string] owner: &str,
    #[string] notice: &str,
) {
    host_of(state).callers().tell_user(request, owner, notice);
}

/// Returns the text that the user has written and not yet sent.
#[op2]
#[string]
pub fn op_haft_ui_editor_text(state: &mut OpState, request: u32, #[string] owner: &str) -> String {
    host_of(state).callers().editor_text(request, owner)
}
