//! Interface between the ops and the rest of the program; `engine` implements it.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;

use deno_core::OpState;
use deno_runtime::deno_permissions::PermissionsContainer;

/// The answer to `pi.exec`, as JSON text: a result or `{"error": …}`.
pub type ExecFuture = Pin<Box<dyn Future<Output = String>>>;

/// An answer of a caller.
pub type CallerFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Error that says why code must not run.
pub type Refusal = deno_error::JsErrorBox;

/// Returns the host of the isolate that runs an op.
pub fn host_of(state: &OpState) -> Rc<dyn IsolateHost> {
    state.borrow::<Rc<dyn IsolateHost>>().clone()
}

/// The callers of an isolate's tools: their users, sessions, screens, pending actions and further calls.
/// The connection of a worker process to haft implements it.
pub trait Callers {
    /// Returns true if the call `request` has a user who can answer prompts now. For an unknown
    /// call the user of `owner` outside of calls counts. The same holds for the other functions
    /// with both parameters.
    fn has_user(&self, request: u32, owner: &str) -> bool;

    /// Shows a prompt to the user, and returns the answer as JSON text, or the reason for which it may
    /// not be shown. `question` is JSON (see `12_ui.ts`), `id` identifies it for
    /// [`Self::withdraw_question`].
    fn ask_user(
        &self,
        request: u32,
        owner: &str,
        id: u32,
        question: String,
    ) -> CallerFuture<Result<String, String>>;

    /// Withdraws the prompt `id`: its answer is not needed any more.
    fn withdraw_question(&self, id: u32);

    /// Shows a notification to the user; `notice` is JSON.
    fn tell_user(&self, request: u32, owner: &str, notice: &str);

    /// Returns the text that the user has written and not yet sent.
    fn editor_text(&self, request: u32, owner: &str) -> String;

    /// Returns the canvas for components, as JSON (see `12_custom.ts`); empty if there is none now.
    fn canvas(&self, request: u32, owner: &str) -> String;

    /// Shows a component until it is hidden, or fails with the reason for which it may not be shown.
    /// `id` identifies it for [`Self::next_touch`], [`Self::paint`] and
    /// [`Self::withdraw_question`].
    fn show(&self, request: u32, owner: &str, id: u32) -> CallerFuture<Result<(), String>>;

    /// Waits for the next input event of the component `id`, as JSON text; empty after the last one.
    fn next_touch(&self, id: u32) -> CallerFuture<String>;

    /// Sets the content of the component `id`: lines, each ended by a newline.
    fn paint(&self, id: u32, lines: String);

    /// Starts a call of a tool of the catalog as a part of the call `request`. `id` identifies it
    /// for the next two functions.
    fn start_nested(&self, request: u32, id: u32, tool: &str, arguments: String);

    /// Waits for the next event of the nested call `id`, as JSON text.
    fn next_of_nested(&self, id: u32) -> CallerFuture<String>;

    /// Cancels the nested call `id`.
    fn cancel_nested(&self, id: u32);

    /// Returns the JSON of the current session; empty if it is unchanged since the last call. The
    /// provider of the session may fail here and in the next functions that return a `Result`.
    fn session(&self) -> Result<String, String>;

    /// Returns true if the agent waits for its user.
    fn is_idle(&self) -> Result<bool, String>;

    /// Returns true if messages of the user are queued.
    fn has_queued_messages(&self) -> Result<bool, String>;

    /// Returns true if calls like `request` run without approval; `None` for an unknown call.
    fn auto_approve(&self, request: u32) -> Option<bool>;

    /// Requests that the agent stops.
    fn abort_agent(&self) -> Result<(), String>;

    /// Registers a pending action; false if it could never be resolved.
    fn push_pending(&self, id: u32, label: &str) -> bool;

    /// Removes a pending action.
    fn pending_done(&self, id: u32);
}

/// One isolate's connection to the rest of haft, kept in its op state.
pub trait IsolateHost {
    /// Returns the callers of the isolate's tools.
    fn callers(&self) -> &dyn Callers;

    /// True if the file is an ES module by its syntax.
    fn is_es_module(&self, path: &str) -> bool;

    /// Notes that the loading module changed the global object under a registered symbol.
    fn noticed_symbol(&self);

    /// Notes that `require(specifier)` found nothing.
    fn require_failed(&self, specifier: &str);

    /// Returns the file that `require(specifier)` means in the file `from`, by the rules of
    /// `import`.
    fn find_required(&self, specifier: &str, from: &str) -> Option<String>;

    /// Returns the name of haft's own package that `require(specifier)` means in the file `from`, by
    /// the rules of `import`.
    fn find_provided(&self, specifier: &str, from: &str) -> Option<String>;

    /// Answers the request `id`, or reports an update of it.
    fn reply(&self, id: u32, kind: ReplyKind, text: String);

    /// Returns the isolate's own permissions after a call, if an answer of the user has changed
    /// them.
    fn restored_permissions(&self) -> Option<PermissionsContainer>;

    /// Returns true if the tool of the request `id` may start, after its arguments were accepted.
    /// If the call was cancelled, the request is answered and the tool may not start.
    fn start(&self, id: u32) -> bool;

    /// Notes that the language's built-in functions were changed; the module `module` ran last.
    fn built_ins_changed(&self, module: u32, what: &str);

    /// Starts a program for `pi.exec`; `request` is JSON, `id` identifies it for
    /// [`Self::abort_exec`].
    fn exec(&self, id: u32, call: u32, request: String) -> ExecFuture;

    /// Returns true if programs that are started here see every variable of the process.
    fn shows_variables(&self) -> bool;

    /// Returns true if they see the variable `name`.
    fn shows_variable(&self, name: &str) -> bool;

    /// Stops the program `id`, if it still runs.
    fn abort_exec(&self, id: u32);

    /// Notes that a tool is about to start `program` itself, on behalf of the call `call`.
    fn starts_program(&self, call: u32, program: &str);

    /// Returns a refusal if a program is denied that is about to be started in `folder`, relative to
    /// the working directory. `path` is the child's `PATH`; empty: ours.
    fn check_program(&self, program: &str, folder: &Path, path: &str) -> Result<(), String>;

    /// Releases the program `pid` that a tool started (`unref`).
    fn release_program(&self, pid: i32);

    /// Checks a JSON value against a JSON Schema, both as text. Returns the JSON text of a list of
    /// issues, empty if the value is valid.
    fn check_schema(&self, schema: &str, value: &str) -> String;

    /// Writes a line to the log of `tool`, and to the log listener of the call `request` (0: no
    /// call).
    fn log(&self, request: u32, level: LogLevel, tool: &str, message: &str, context: &str);

    /// Sends a signal to a process other than the host. Returns 0 or the system's error number.
    fn send_signal(&self, pid: i32, signal: i32) -> i32;

    /// Returns the number of the signal `name`.
    fn signal_number(&self, name: &str) -> Option<i32>;

    /// Returns the limit of the bytes that a tool gets by reading a whole file.
    fn most_bytes_of_a_file(&self) -> u64;

    /// Notes that the loading module must not be cached, because of `what`. `is_trace`: later
    /// modules can see what it did.
    fn noticed(&self, what: &str, is_trace: bool);

    /// Returns the recorded answer to a request of `fetch`, as JSON text; empty if the request is
    /// to be sent to the network.
    fn tape_play(&self, request: &str) -> String;

    /// Records the network's answer to a request.
    fn tape_keep(&self, request: &str, answer: &str);

    /// Adds an answer from outside to the recording of the call `call`.
    fn record(&self, call: u32, channel: Channel, request: &str, answer: &str);

    /// Returns true while a module is imported or its factory runs.
    fn is_loading(&self) -> bool;

    /// Returns true if modules may load only what the user trusted.
    fn is_verified(&self) -> bool;

    /// Checks the code that `require` compiles.
    fn check_required(&self, code: &str) -> Result<(), Refusal>;

    /// Checks that text may be run as code.
    fn check_text(&self, text: &str) -> Result<(), Refusal>;

    /// Notes that a tool has read the file at `path` as a whole.
    fn note_data(&self, path: &std::path::Path, bytes: &[u8]);

    /// Checks the native code at `path`.
    fn check_native(&self, path: &str) -> Result<(), Refusal>;

    /// Checks bytes that become WebAssembly; `url` is their source, or empty.
    fn check_wasm(&self, bytes: &[u8], url: &str) -> Result<(), Refusal>;
}

/// Kind of a reply. The numbers are those of `ReplyKind` in `00_state.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// A partial result; more replies follow.
    Update,
    /// The request is done; the text is its JSON.
    Done,
    /// The arguments are invalid; the text says why, nothing was started.
    Refused,
    /// The request failed; the text says why.
    Failed,
}

/// Way to the outside. The numbers are those of `Channel` in `00_state.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// `pi.exec`.
    Exec,
    /// `fetch`.
    Fetch,
}

/// Severity of a log line. The numbers are those of `LogLevel` in `00_state.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// For the author of the tool.
    Debug,
    /// Normal operation.
    Info,
    /// A problem that does not stop the tool.
    Warn,
    /// A failure.
    Error,
}

impl ReplyKind {
    /// Returns the kind with the number `code` in `00_state.ts`.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => ReplyKind::Update,
            1 => ReplyKind::Done,
            2 => ReplyKind::Refused,
            _ => ReplyKind::Failed,
        }
    }
}

impl Channel {
    /// Returns the channel with the number `code` in `00_state.ts`.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Channel::Exec,
            _ => Channel::Fetch,
        }
    }
}

impl LogLevel {
    /// Returns the level with the number `code` in `00_state.ts`.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => LogLevel::Debug,
            1 => LogLevel::Info,
            2 => LogLevel::Warn,
            _ => LogLevel::Error,
        }
    }
}
