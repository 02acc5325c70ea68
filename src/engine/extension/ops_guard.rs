//! Harmless stand-ins for the ops with which a tool could end or disturb the host.
//!
//! A tool is a guest: the process, its standard streams and its working directory are not its own.
//! Each stand-in has the parameters of the op whose place it takes.

use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;
use deno_runtime::deno_os::ExitCode;

use super::host::{IsolateHost, LogLevel};

/// In place of `op_exit`: the call that asked for it fails, the host stays.
#[op2(fast)]
pub fn op_haft_exit(state: &mut OpState) -> Result<(), JsErrorBox> {
    let code = state.try_borrow::<ExitCode>().map_or(0, ExitCode::get);
    Err(JsErrorBox::generic(exit_message(state, code)))
}

/// In place of `op_process_abort`.
#[op2(fast)]
pub fn op_haft_abort(state: &mut OpState) -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(exit_message(state, 134)))
}

fn exit_message(state: &OpState, code: i32) -> String {
    let loading = state.borrow::<Rc<dyn IsolateHost>>().is_loading();
    if loading {
        // The text of the original program, which hosts match on (spec omp 4).
        format!(
            "Module called process.exit({code}) during guarded extension/hook loading; \
             OMP extension/hook modules must not terminate the host process."
        )
    } else {
        format!("Tool called process.exit({code}); a tool must not terminate the host process.")
    }
}

/// In place of `op_print`: `console` of a tool goes to its log, never to our streams.
#[op2(fast)]
pub fn op_haft_print(state: &mut OpState, #[string] msg: &str, is_err: bool) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    let level = if is_err {
        LogLevel::Warn
    } else {
        LogLevel::Info
    };
    host.log(level, "", msg.trim_end_matches('\n'), "");
}

/// In place of `op_create_worker`.
#[op2(fast)]
pub fn op_haft_refuse_worker() -> Result<(), JsErrorBox> {
    Err(JsErrorBox::not_supported())
}

/// In place of `op_fs_chdir`: every tool of the process would move with it.
#[op2(fast)]
pub fn op_haft_refuse_chdir(#[string] directory: &str) -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(format!(
        "process.chdir(\"{directory}\") is not available to tools: the working directory belongs \
         to the host. Pass `cwd` to the program or use absolute paths."
    )))
}
