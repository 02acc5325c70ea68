//! The contract between Rust and our JavaScript: a flat list of ops.
//!
//! `build.rs` compiles this room too, to make the V8 snapshot, so nothing here may use
//! anything of haft but this folder. It adds the files of `js-runtime/`, which only the snapshot
//! needs, in the order of their numbers. What an op needs from the rest of the program it asks of the
//! `IsolateHost` that the isolate put into the op state.

mod host;
mod ops_exec;
mod ops_guard;
mod ops_log;
mod ops_pending;
mod ops_reply;
mod ops_schema;

use deno_core::OpDecl;

pub use host::{ExecFuture, IsolateHost, LogLevel, ReplyKind};

deno_core::extension!(
    haft,
    ops = [
        ops_reply::op_haft_reply,
        ops_exec::op_haft_exec,
        ops_exec::op_haft_exec_abort,
        ops_schema::op_haft_schema_check,
        ops_log::op_haft_log,
        ops_pending::op_haft_pending_push,
        ops_pending::op_haft_pending_done,
        ops_guard::op_haft_exit,
        ops_guard::op_haft_print,
        ops_guard::op_haft_abort,
        ops_guard::op_haft_refuse_worker,
        ops_guard::op_haft_refuse_chdir,
    ],
    esm_entry_point = "ext:haft/90_main.ts",
    middleware = guard,
);

/// Replaces the ops with which a tool could end or disturb the host. Everything keeps the name
/// and place that the snapshot knows; only the implementation differs.
fn guard(op: OpDecl) -> OpDecl {
    match op.name {
        "op_exit" => op.with_implementation_from(&ops_guard::op_haft_exit()),
        "op_print" => op.with_implementation_from(&ops_guard::op_haft_print()),
        "op_process_abort" => op.with_implementation_from(&ops_guard::op_haft_abort()),
        "op_create_worker" => op.with_implementation_from(&ops_guard::op_haft_refuse_worker()),
        "op_fs_chdir" => op.with_implementation_from(&ops_guard::op_haft_refuse_chdir()),
        _ => op,
    }
}
