//! Programs that tools start themselves, with `node:child_process` and `Deno.Command`.
//!
//! Tools assume that `process.execPath` is Node (or Bun): they start scripts with it, and `fork`
//! does. haft's own program runs no scripts, so the path of an installed Node is used instead.

use std::path::PathBuf;
use std::sync::OnceLock;

use deno_core::serde_json::json;
use deno_core::url::Url;
use deno_core::{OpState, op2, serde_json};
use deno_error::JsErrorBox;

use super::host::host_of;

/// The program that runs scripts, if one is installed.
static SCRIPT_RUNNER: OnceLock<Option<String>> = OnceLock::new();

const NO_SCRIPTS: &str = "haft runs no scripts in processes of their own, and neither node nor bun is \
                          installed to do it; install one of them, or run the code in the tool itself";

/// Sets the program that runs scripts; once, before the first isolate.
pub fn set_script_runner(path: impl FnOnce() -> Option<PathBuf>) {
    SCRIPT_RUNNER.get_or_init(|| path()?.into_os_string().into_string().ok());
}

fn script_runner() -> Option<&'static str> {
    SCRIPT_RUNNER.get()?.as_deref()
}

/// Notes that a tool is about to start a program on behalf of the call `call`; 0: outside of calls.
#[op2(fast)]
pub fn op_haft_starts_program(state: &mut OpState, call: u32, #[string] program: &str) {
    host_of(state).starts_program(call, program);
}

/// Refuses a program that is denied. `program` and `folder` are paths or `file:` URLs; `path` is the
/// child's `PATH`, or empty.
#[op2(fast)]
pub fn op_haft_check_program(
    state: &mut OpState,
    #[string] program: &str,
    #[string] folder: &str,
    #[string] path: &str,
) -> Result<(), JsErrorBox> {
    let [program, folder] = [program, folder].map(|text| match Url::parse(text) {
        Ok(url) if url.scheme() == "file" => url.to_file_path().unwrap_or_else(|()| text.into()),
        _ => PathBuf::from(text),
    });
    let program = program.to_string_lossy();
    let checked = host_of(state).check_program(&program, &folder, path);
    checked.map_err(|refusal| JsErrorBox::new("NotCapable", refusal))
}

/// Releases a program that a tool started.
#[op2(fast)]
pub fn op_haft_release_program(state: &mut OpState, #[smi] pid: i32) {
    host_of(state).release_program(pid);
}

/// Replaces `op_exec_path`.
#[op2]
#[string]
pub fn op_haft_exec_path() -> Result<String, JsErrorBox> {
    match script_runner() {
        Some(path) => Ok(path.to_owned()),
        None => std::env::current_exe()
            .map(|path| path.to_string_lossy().into_owned())
            .map_err(JsErrorBox::from_err),
    }
}

/// Replaces `op_node_translate_cli_args`. The program is not Deno, so its arguments stay as they
/// are. `is_program` is false for the text of a shell command, which is left alone.
#[op2]
#[serde]
pub fn op_haft_keep_args(
    #[serde] args: Vec<String>,
    _is_in_package: bool,
    is_program: bool,
) -> Result<serde_json::Value, JsErrorBox> {
    match (script_runner(), is_program) {
        (_, false) => Err(JsErrorBox::generic("a shell gets its text as it is")),
        (None, true) => Err(JsErrorBox::generic(NO_SCRIPTS)),
        (Some(_), true) => Ok(json!({
            "denoArgs": args,
            "nodeOptions": [],
            "needsNpmProcessState": false,
        })),
    }
}
