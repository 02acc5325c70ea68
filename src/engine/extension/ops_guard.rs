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

/// In place of `op_print`: what does not go through a tool's own `console` goes to the log, too, and
/// never to our streams.
#[op2(fast)]
pub fn op_haft_print(state: &mut OpState, #[string] msg: &str, is_err: bool) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    let level = if is_err {
        LogLevel::Warn
    } else {
        LogLevel::Info
    };
    host.log(0, level, "", msg.trim_end_matches('\n'), "");
}

/// In place of `op_create_worker`.
#[op2(fast)]
pub fn op_haft_refuse_worker() -> Result<(), JsErrorBox> {
    Err(not_for_tools("worker threads are"))
}

/// In place of `op_fs_chdir`: every tool of the process would move with it.
#[op2(fast)]
pub fn op_haft_refuse_chdir(#[string] directory: &str) -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(format!(
        "process.chdir(\"{directory}\") is not available to tools: the working directory belongs \
         to the host. Pass `cwd` to the program or use absolute paths."
    )))
}

/// In place of `op_fs_umask`: it is the process's. Asking is fine.
#[op2]
pub fn op_haft_umask(mask: Option<u32>) -> Result<u32, JsErrorBox> {
    if mask.is_some() {
        return Err(not_for_tools("process.umask(mask) is"));
    }
    // The system call can only ask by setting.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let octal = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    Ok(octal
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .unwrap_or(0o022))
}

/// In place of the ops behind `process.setuid` and its kin.
#[op2(fast)]
pub fn op_haft_refuse_identity() -> Result<(), JsErrorBox> {
    Err(not_for_tools(
        "changing the user or group of the process is",
    ))
}

/// In place of `op_node_os_set_priority`.
#[op2(fast)]
pub fn op_haft_refuse_priority() -> Result<(), JsErrorBox> {
    Err(not_for_tools("os.setPriority is"))
}

/// In place of `op_inspector_open`, which opens a port through which all isolates can be steered.
#[op2(fast)]
pub fn op_haft_refuse_inspector() -> Result<(), JsErrorBox> {
    Err(not_for_tools("the inspector is"))
}

/// In place of what only changes how the process looks or what it does when memory runs out.
#[op2(fast)]
pub fn op_haft_ignore() {}

fn not_for_tools(what: &str) -> JsErrorBox {
    JsErrorBox::generic(format!(
        "{what} not available to tools: a tool shares the process with its host and other tools."
    ))
}
