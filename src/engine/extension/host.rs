//! What the ops ask of the program around them. The interface alone; `engine` implements it.

use std::future::Future;
use std::pin::Pin;

/// The answer to `pi.exec`, as JSON text: a result or `{"error": …}`.
pub type ExecFuture = Pin<Box<dyn Future<Output = String>>>;

/// The answer to a question to the user, as JSON text, or why it may not be asked.
pub type AskFuture = Pin<Box<dyn Future<Output = Result<String, String>>>>;

/// Ends when a component is not on a screen any more, or says why it may not be.
pub type ShowFuture = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// What comes next to a component, as JSON text; empty when nothing more comes.
pub type TouchFuture = Pin<Box<dyn Future<Output = String>>>;

/// Why code must not run.
pub type Refusal = deno_error::JsErrorBox;

/// One isolate's connection to the rest of haft, kept in its op state.
pub trait IsolateHost {
    /// True if the file is an ES module by its syntax.
    fn is_es_module(&self, path: &str) -> bool;

    /// The module that loads changed the global object under a registered symbol.
    fn noticed_symbol(&self);

    /// `require(specifier)` finds nothing.
    fn required_in_vain(&self, specifier: &str);

    /// The file that `require(specifier)` means in the file `from`, by the rules of `import`.
    fn find_required(&self, specifier: &str, from: &str) -> Option<String>;

    /// JavaScript answers the request `id` (or reports on it, for an update).
    fn reply(&self, id: u32, kind: ReplyKind, text: String);

    /// The arguments of the call behind the request `id` are accepted: whether its tool may start. It may
    /// not once the call was asked to end; the request is answered then.
    fn start(&self, id: u32) -> bool;

    /// The language's own functions are not what they were; the module `module` ran last.
    fn built_ins_changed(&self, module: u32, what: &str);

    /// Starts a program for `pi.exec`; `request` is JSON, `id` names it for [`Self::abort_exec`].
    fn exec(&self, id: u32, call: u32, request: String) -> ExecFuture;

    /// Whether programs that are started here see every variable of the process.
    fn shows_variables(&self) -> bool;

    /// Whether they see that one.
    fn shows_variable(&self, name: &str) -> bool;

    /// Stops the program that `id` names, if it still runs.
    fn abort_exec(&self, id: u32);

    /// A tool is about to start `program` by itself, on behalf of the call `call`.
    fn starts_program(&self, call: u32, program: &str);

    /// A tool has let go of the program `pid` that it started (`unref`).
    fn release_program(&self, pid: i32);

    /// Whether the call `request` has a user who can be asked now. Where there is no such call it is
    /// about the user of `owner` outside of calls; so for the others that ask for both.
    fn has_user(&self, request: u32, owner: &str) -> bool;

    /// Asks the user; `question` is JSON (see `12_ui.ts`), `id` names it for
    /// [`Self::withdraw_question`].
    fn ask_user(&self, request: u32, owner: String, id: u32, question: String) -> AskFuture;

    /// Nobody wants the answer to the question `id` any more.
    fn withdraw_question(&self, id: u32);

    /// Tells the user something; `notice` is JSON.
    fn tell_user(&self, request: u32, owner: &str, notice: &str);

    /// What the user has written and not yet sent.
    fn editor_text(&self, request: u32, owner: &str) -> String;

    /// Where components can be shown at this moment, as JSON (see `12_custom.ts`); empty if nowhere.
    fn canvas(&self, request: u32, owner: &str) -> String;

    /// Shows a component, which `id` names for [`Self::next_touch`], [`Self::paint`] and
    /// [`Self::withdraw_question`].
    fn show(&self, request: u32, owner: String, id: u32) -> ShowFuture;

    /// Waits for what comes next to the component `id`.
    fn next_touch(&self, id: u32) -> TouchFuture;

    /// The component `id` looks like this now: lines, each ended by a newline.
    fn paint(&self, id: u32, lines: String);

    /// The JSON of the session as it is now; empty if it is what was answered last. Whoever provides
    /// it may fail; so for the three below.
    fn session(&self) -> Result<String, String>;

    /// Whether the agent waits for its user.
    fn is_idle(&self) -> Result<bool, String>;

    /// Whether messages of the user wait.
    fn has_queued_messages(&self) -> Result<bool, String>;

    /// Whether calls like `request` run without a question; `otherwise` where there is no such call.
    fn auto_approve(&self, request: u32, otherwise: bool) -> bool;

    /// A tool wants the agent to stop what it does.
    fn abort_agent(&self) -> Result<(), String>;

    /// Checks a JSON value against a JSON Schema, both as text. The answer is the JSON text of a
    /// list of issues, empty if the value fits.
    fn check_schema(&self, schema: &str, value: &str) -> String;

    /// A tool, or something in its name, has something to say to its log, and to whoever listens to
    /// the call behind `request` (0: no call).
    fn log(&self, request: u32, level: LogLevel, tool: &str, message: &str, context: &str);

    /// An action waits to be resolved; false where there is no way to resolve it.
    fn push_pending(&self, id: u32, label: &str) -> bool;

    /// It waits no more.
    fn pending_done(&self, id: u32);

    /// Sends a signal to a process that is not ours; 0 or the system's error number.
    fn send_signal(&self, pid: i32, signal: i32) -> i32;

    /// The number of the signal that is called `name`.
    fn signal_number(&self, name: &str) -> Option<i32>;

    /// The most bytes that a tool gets by reading a whole file.
    fn most_bytes_of_a_file(&self) -> u64;

    /// A tool changed `process.env`, which the modules of its isolate share.
    fn env_changed(&self);

    /// The module that loads may say something else tomorrow, because of `what`; `is_trace`: what it
    /// did can be seen by those after it.
    fn noticed(&self, what: &str, is_trace: bool);

    /// What the tape has for a request of `fetch`; nothing where the world is to be asked. JSON text.
    fn tape_play(&self, request: &str) -> String;

    /// What the world said to it.
    fn tape_keep(&self, request: &str, answer: &str);

    /// True while a module is imported or its factory runs.
    fn is_loading(&self) -> bool;

    /// True if modules may load only what the user trusted.
    fn is_verified(&self) -> bool;

    /// Checks the code that `require` compiles.
    fn check_required(&self, code: &str) -> Result<(), Refusal>;

    /// Checks that text may be run as code.
    fn check_text(&self, text: &str) -> Result<(), Refusal>;

    /// A tool has read the file at `path` as a whole.
    fn note_data(&self, path: &std::path::Path, bytes: &[u8]);

    /// Checks the native code at `path`.
    fn check_native(&self, path: &str) -> Result<(), Refusal>;

    /// Checks bytes that become WebAssembly; `url` is where they were read, or empty.
    fn check_wasm(&self, bytes: &[u8], url: &str) -> Result<(), Refusal>;
}

/// What a reply is about. The numbers are those of `ReplyKind` in `00_state.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// A partial result; more replies follow.
    Update,
    /// The request is done; the text is its JSON.
    Done,
    /// The arguments do not fit; the text says why, nothing was started.
    Refused,
    /// The request failed; the text says why.
    Failed,
}

/// How loud a log line is. The numbers are those of `LogLevel` in `00_state.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// For the author of the tool.
    Debug,
    /// Normal.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

impl ReplyKind {
    /// The kind that `00_state.ts` numbers `code`.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => ReplyKind::Update,
            1 => ReplyKind::Done,
            2 => ReplyKind::Refused,
            _ => ReplyKind::Failed,
        }
    }
}

impl LogLevel {
    /// The level that `00_state.ts` numbers `code`.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => LogLevel::Debug,
            1 => LogLevel::Info,
            2 => LogLevel::Warn,
            _ => LogLevel::Error,
        }
    }
}
