//! The contract between Rust and our JavaScript: a flat list of ops.
//!
//! `build.rs` compiles this module too, to make the V8 snapshot, so code here may use nothing of
//! haft outside of this folder. The build script adds the files of `js-runtime/`, which only the
//! snapshot needs, in the order of their numbers. Ops reach the rest of the program by the
//! `IsolateHost` in the op state.

mod host;
mod ops_blob;
mod ops_children;
mod ops_env;
mod ops_exec;
mod ops_guard;
mod ops_load_trace;
mod ops_log;
mod ops_nested;
mod ops_pending;
mod ops_read;
mod ops_replay;
mod ops_reply;
mod ops_require;
mod ops_schema;
mod ops_session;
mod ops_show;
mod ops_signal;
mod ops_ui;
mod ops_verify;

use deno_core::OpDecl;

pub use host::{
    CallerFuture, Callers, Channel, ExecFuture, IsolateHost, LogLevel, Refusal, ReplyKind,
};
pub use ops_children::set_script_runner;
pub use ops_env::begin_with as begin_with_env;
pub use ops_read::too_large;

deno_core::extension!(
    haft,
    ops = [
        ops_reply::op_haft_reply,
        ops_reply::op_haft_start,
        ops_reply::op_haft_built_ins_changed,
        ops_blob::op_haft_blob_create_part,
        ops_blob::op_haft_blob_remove_part,
        ops_children::op_haft_check_program,
        ops_children::op_haft_starts_program,
        ops_children::op_haft_release_program,
        ops_children::op_haft_exec_path,
        ops_children::op_haft_keep_args,
        ops_exec::op_haft_exec,
        ops_exec::op_haft_exec_abort,
        ops_schema::op_haft_schema_check,
        ops_log::op_haft_log,
        ops_nested::op_haft_nested_start,
        ops_nested::op_haft_nested_next,
        ops_nested::op_haft_nested_cancel,
        ops_pending::op_haft_pending_push,
        ops_pending::op_haft_pending_done,
        ops_session::op_haft_session,
        ops_session::op_haft_session_idle,
        ops_session::op_haft_session_queued,
        ops_session::op_haft_session_auto_approve,
        ops_session::op_haft_session_abort,
        ops_ui::op_haft_ui_has_user,
        ops_ui::op_haft_ui_ask,
        ops_ui::op_haft_ui_withdraw,
        ops_ui::op_haft_ui_tell,
        ops_ui::op_haft_ui_editor_text,
        ops_show::op_haft_show_canvas,
        ops_show::op_haft_show,
        ops_show::op_haft_show_touch,
        ops_show::op_haft_show_paint,
        ops_guard::op_haft_exit,
        ops_guard::op_haft_print,
        ops_guard::op_haft_abort,
        ops_guard::op_haft_refuse_worker,
        ops_guard::op_haft_refuse_identity,
        ops_guard::op_haft_refuse_inspector,
        ops_guard::op_haft_refuse_priority,
        ops_guard::op_haft_umask,
        ops_guard::op_haft_refuse_preopen,
        ops_guard::op_haft_ignore,
        ops_require::op_haft_find_provided,
        ops_require::op_haft_find_required,
        ops_require::op_haft_is_es_module,
        ops_require::op_haft_required_in_vain,
        ops_read::op_haft_exists,
        ops_read::op_haft_exists_sync,
        ops_read::op_haft_read_file,
        ops_read::op_haft_read_file_sync,
        ops_signal::op_haft_signal_bind,
        ops_signal::op_haft_signal_poll,
        ops_signal::op_haft_signal_unbind,
        ops_signal::op_haft_kill,
        ops_signal::op_haft_deno_kill,
        ops_replay::op_haft_replay_play,
        ops_replay::op_haft_replay_keep,
        ops_replay::op_haft_record,
        ops_verify::op_haft_is_verified,
        ops_verify::op_haft_check_required,
        ops_verify::op_haft_check_text,
        ops_verify::op_haft_check_native,
        ops_verify::op_haft_check_wasm,
        ops_load_trace::op_haft_noticed,
        ops_load_trace::op_haft_noticed_symbol,
        ops_env::op_haft_set_env,
        ops_env::op_haft_delete_env,
        ops_env::op_haft_get_env,
        ops_env::op_haft_get_env_unchecked,
        ops_env::op_haft_env,
        ops_env::op_haft_env_changes,
        ops_env::op_haft_shown_env,
        ops_env::op_haft_refuse_env_file,
    ],
    esm_entry_point = "ext:haft/90_main.ts",
    middleware = guard,
);

/// Replaces the ops with which a tool could end or disturb the host. Each op keeps the name and the
/// place that the snapshot knows; only the implementation differs.
fn guard(op: OpDecl) -> OpDecl {
    let stand_in = match op.name {
        "op_exit" => ops_guard::op_haft_exit(),
        "op_print" => ops_guard::op_haft_print(),
        "op_process_abort" => ops_guard::op_haft_abort(),
        "op_create_worker" => ops_guard::op_haft_refuse_worker(),
        "op_exec_path" => ops_children::op_haft_exec_path(),
        "op_node_translate_cli_args" => ops_children::op_haft_keep_args(),
        "op_fs_umask" => ops_guard::op_haft_umask(),
        "op_node_process_setuid"
        | "op_node_process_seteuid"
        | "op_node_process_setgid"
        | "op_node_process_setegid" => ops_guard::op_haft_refuse_identity(),
        "op_node_os_set_priority" => ops_guard::op_haft_refuse_priority(),
        "op_inspector_open" => ops_guard::op_haft_refuse_inspector(),
        "op_node_process_set_title" | "op_v8_set_heap_snapshot_near_heap_limit" => {
            ops_guard::op_haft_ignore()
        }
        "op_signal_bind" => ops_signal::op_haft_signal_bind(),
        "op_signal_poll" => ops_signal::op_haft_signal_poll(),
        "op_signal_unbind" => ops_signal::op_haft_signal_unbind(),
        "op_node_process_kill" => ops_signal::op_haft_kill(),
        "op_kill" => ops_signal::op_haft_deno_kill(),
        "op_blob_create_part" => ops_blob::op_haft_blob_create_part(),
        "op_blob_remove_part" => ops_blob::op_haft_blob_remove_part(),
        "op_node_fs_exists_sync" => ops_read::op_haft_exists_sync(),
        "op_node_fs_exists" => ops_read::op_haft_exists(),
        "op_node_fs_read_file_sync" => ops_read::op_haft_read_file_sync(),
        "op_node_fs_read_file" => ops_read::op_haft_read_file(),
        "op_set_env" => ops_env::op_haft_set_env(),
        "op_delete_env" => ops_env::op_haft_delete_env(),
        "op_get_env" => ops_env::op_haft_get_env(),
        "op_get_env_no_permission_check" => ops_env::op_haft_get_env_unchecked(),
        "op_env" => ops_env::op_haft_env(),
        "op_node_load_env_file" => ops_env::op_haft_refuse_env_file(),
        _ => return op,
    };
    op.with_implementation_from(&stand_in)
}
