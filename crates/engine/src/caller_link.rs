//! Connection of an isolate to the callers of its tools: their updates, users, logs and sessions.
//!
//! `LocalLink` is the implementation beside the callers. An isolate in a worker process has
//! another one (`worker::remote_link`), which sends everything to a `LocalLink` in haft's process.

use super::extension::Callers;
use super::load_trace::{AccessListener, LoadTrace};
use haft_tool::{LogLevel, PermissionKind, ReplayChannel};

/// Connection of an isolate to the callers of its tools: what JavaScript uses of them ([`Callers`]),
/// and what the engine reports to them.
pub(super) trait CallerLink: Callers + AccessListener + Send + Sync {
    /// Reports a partial result of the request `id`.
    fn update(&self, id: u32, text: String);

    /// Stores the dependencies of the load `id`, before the load is answered.
    fn load_traced(&self, id: u32, trace: LoadTrace);

    /// Notes that the module changed the language's built-in functions.
    fn built_ins_changed(&self, module: u32, what: &str);

    /// Notes that a tool changed state that the modules of its isolate share.
    fn shared_state_changed(&self);

    /// Records a program that the call started.
    fn program_started(&self, call: u32, program: &str);

    /// Adds an answer from outside to the recording of the call.
    fn recorded(&self, call: u32, channel: ReplayChannel, request: &str, answer: &str);

    /// Asks the user whether the running calls may access `what`. The isolate's thread waits.
    fn ask_permission(&self, kind: PermissionKind, what: &str) -> bool;

    fn log(&self, request: u32, level: LogLevel, tool: &str, message: &str, context: &str);

    /// Reports that a module waits for a debugger, or has one.
    fn waits_for_debugger(&self, waits: bool);
}
