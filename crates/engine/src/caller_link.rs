//! Connection of an isolate to the callers of its tools: their updates, users, logs and sessions.
//!
//! `LocalLink` is the implementation beside the callers. An isolate in a worker process has
//! another one (`worker::remote_link`), which sends everything to a `LocalLink` in haft's process.

use futures::future::BoxFuture;

use super::load_trace::{AccessListener, LoadTrace};
use haft_tool::{LogLevel, PermissionKind, ReplayChannel};

/// Connection of an isolate to the callers of its tools. The functions are those of
/// `extension::IsolateHost` that need a caller, with the same meaning.
pub(super) trait CallerLink: AccessListener + Send + Sync {
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

    fn session(&self) -> Result<String, String>;

    fn is_idle(&self) -> Result<bool, String>;

    fn has_queued_messages(&self) -> Result<bool, String>;

    fn abort_agent(&self) -> Result<(), String>;

    /// Returns true if the calls of this caller run without approval; `None` outside of calls.
    fn auto_approve(&self, request: u32) -> Option<bool>;

    fn has_user(&self, request: u32, owner: &str) -> bool;

    fn ask_user(
        &self,
        request: u32,
        owner: &str,
        id: u32,
        question: String,
    ) -> BoxFuture<'static, Result<String, String>>;

    fn withdraw_question(&self, id: u32);

    fn tell_user(&self, request: u32, owner: &str, notice: &str);

    fn editor_text(&self, request: u32, owner: &str) -> String;

    fn canvas(&self, request: u32, owner: &str) -> String;

    fn show(&self, request: u32, owner: &str, id: u32) -> BoxFuture<'static, Result<(), String>>;

    fn next_touch(&self, id: u32) -> BoxFuture<'static, String>;

    fn paint(&self, id: u32, lines: String);

    fn start_nested(&self, request: u32, id: u32, tool: &str, arguments: String);

    fn next_of_nested(&self, id: u32) -> BoxFuture<'static, String>;

    fn cancel_nested(&self, id: u32);

    fn log(&self, request: u32, level: LogLevel, tool: &str, message: &str, context: &str);

    fn push_pending(&self, id: u32, label: &str) -> bool;

    fn pending_done(&self, id: u32);

    /// Reports that a module waits for a debugger, or has one.
    fn waits_for_debugger(&self, waits: bool);
}
