//! Harmless replacements of the ops with which a tool could end or disturb the host.
//!
//! The process belongs to all tools of its trust domain. Each replacement has the parameters of the
//! original op.

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;
use deno_runtime::deno_fs::FileSystemRc;
use deno_runtime::deno_os::ExitCode;
use deno_runtime::deno_permissions::PermissionsContainer;

use super::host::{LogLevel, host_of};

/// Replaces `op_exit`: the call that requested the exit fails, and the host stays.
#[op2(fast)]
pub fn op_haft_exit(state: &mut OpState) -> Result<(), JsErrorBox> {
    let code = state.try_borrow::<ExitCode>().map_or(0, ExitCode::get);
    Err(JsErrorBox::generic(exit_message(state, code)))
}

/// Replaces `op_process_abort`.
#[op2(fast)]
pub fn op_haft_abort(state: &mut OpState) -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(exit_message(state, 134)))
}

fn exit_message(state: &OpState, code: i32) -> String {
    let loading = host_of(state).is_loading();
    if loading {
        // The text of oh-my-pi, which hosts match on (spec omp 4).
        format!(
            "Module called process.exit({code}) during guarded extension/hook loading; \
             OMP extension/hook modules must not terminate the host process."
        )
    } else {
        format!("Tool called process.exit({code}); a tool must not terminate the host process.")
    }
}

/// Replaces `op_print`. Output that bypasses a tool's own `console` goes to the log, too, and never
/// to the host's streams.
#[op2(fast)]
pub fn op_haft_print(state: &mut OpState, #[string] msg: &str, is_err: bool) {
    let host = host_of(state);
    let level = if is_err {
        LogLevel::Warn
    } else {
        LogLevel::Info
    };
    host.log(0, level, "", msg.trim_end_matches('\n'), "");
}

/// Replaces `op_create_worker`.
#[op2(fast)]
pub fn op_haft_refuse_worker() -> Result<(), JsErrorBox> {
    Err(not_for_tools("worker threads are"))
}

/// Replaces `op_fs_umask`, which asks for a permission also to read the mask.
#[op2]
pub fn op_haft_umask(state: &mut OpState, mask: Option<u32>) -> Result<u32, JsErrorBox> {
    if mask.is_some() {
        let permissions = state.borrow_mut::<PermissionsContainer>();
        let checked = permissions.check_sys("umask", "process.umask()");
        checked.map_err(JsErrorBox::from_err)?;
        let set = state.borrow::<FileSystemRc>().umask(mask);
        return set.map_err(|error| JsErrorBox::generic(error.to_string()));
    }
    // The system call cannot read the mask without setting it.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let octal = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    Ok(octal
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .unwrap_or(0o022))
}

/// Replaces the ops behind `process.setuid` and similar functions.
#[op2(fast)]
pub fn op_haft_refuse_identity() -> Result<(), JsErrorBox> {
    Err(not_for_tools(
        "changing the user or group of the process is",
    ))
}

/// Replaces `op_node_os_set_priority`.
#[op2(fast)]
pub fn op_haft_refuse_priority() -> Result<(), JsErrorBox> {
    Err(not_for_tools("os.setPriority is"))
}

/// Replaces `op_inspector_open`, which opens a port through which all isolates can be controlled.
#[op2(fast)]
pub fn op_haft_refuse_inspector() -> Result<(), JsErrorBox> {
    Err(not_for_tools("the inspector is"))
}

/// Refuses a preopened folder of a WebAssembly program. Its files would be opened without Deno's
/// file system and its permissions.
#[op2(fast)]
pub fn op_haft_refuse_preopen(#[string] path: &str) -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(format!(
        "WASI({{ preopens }}) is not available to tools: '{path}' cannot be given to the program; \
         read and write its files with node:fs"
    )))
}

/// Replaces ops that only change the process's title or its behaviour when memory runs out.
#[op2(fast)]
pub fn op_haft_ignore() {}

fn not_for_tools(what: &str) -> JsErrorBox {
    JsErrorBox::generic(format!(
        "{what} not available to tools: a tool shares its process with other tools."
    ))
}
