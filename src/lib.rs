//! haft, the tool host: finds the tools people write for LLM agents, whatever they are written in,
//! and runs them safely and fast for any agent.
//!
//! Start with [`Host`]: make one from a [`Config`], look at its [`Catalog`], call a tool. With a tool of
//! your own:
//!
//! ```ignore
#![doc = include_str!("../tests/it/examples/custom_tool.rs")]
//! ```

#![deny(missing_docs)]

mod error;
mod tool;

mod files;
mod owners;
mod private_files;
mod regular_files;
mod session;

mod engine;
#[doc(hidden)]
pub use engine::graph;
#[doc(hidden)]
pub mod process;

/// Protects the embedding program from the programs that tools start; see `docs/limits.md`.
pub use process::harden as protect_process;

mod config;
#[doc(hidden)]
pub mod discover;
mod family;
/// How values are put into the text of a shell. For tests.
#[doc(hidden)]
pub mod shell_quote {
    pub use crate::family::shell::run::quote::{
        Dialect, Outside, Piece, QuoteError, Quoted, bash, bash_with, cmd, pwsh,
    };
}
mod trust;

mod registry;

mod dialect;

mod execute;

mod audit;

mod watch;

mod host;

mod install;

mod agents;
mod credentials;
mod custom_tools;
mod sessions;
mod tool_registry;
mod trial;
mod workshop;

mod render;
mod surface;
mod telemetry;

/// The log of calls.
pub use audit::{
    AuditLog, CallOutcome, Caller, Content as RecordedArguments, DecisionRecord, Digest,
    Event as AuditEvent, RecordedCall,
};
pub use config::{
    Agents, Aynd, Config, CustomTools, Env, FileUse, Flags, Ikigai, Limits, ListenAddress,
    LogSettings, LoggedArguments, Mcp, McpFlags, McpToolSettings, Permission, PermissionProfile,
    Roots, Serve, ServeFlags, Sessions, Structured, Token, parse_duration,
};
pub use custom_tools::{
    CustomToolSource, LoadedCustomTool, LoadedCustomTools, ToolLoadError, ToolPath,
    discover_and_load_custom_tools, discover_custom_tool_paths, load_custom_tools,
};
pub use discover::{LookedAt, Verdict};
pub use error::{Error, ErrorKind};
pub use family::custom::{CustomTool, Invocation, ToolOutput};
pub use host::{
    Events, Host, HostBuilder, Loaded, Reload, RunningCall, Stopper, TrustPolicy, Watching,
};
pub use registry::{Catalog, Entry};
/// How calls and results look to people.
pub use render::tame::safe_lines;
/// The conversation that calls belong to.
pub use session::SessionFile;
/// The person at a surface: whom tools ask.
pub use tool::{
    Answer, Asked, Canvas, MOST_QUESTIONS, Notice, NoticeLevel, Question, Speaker, Told,
    TooManyQuestions, Touch, Touches, User, UserInterface, Widget,
};
pub use tool::{
    Approval, ApprovalMode, ApprovalPolicy, ApprovalRequest, Approver, ArgumentOrder, Block, Call,
    CallCtx, CatalogChange, ClientHints, Contents, Decision, Event, Family, Gate, Level, Link,
    LogLevel, LogLine, LogListener, NotAdmitted, Outcome, Problem, Progress, Rule, Runner,
    ScanState, Severity, Source, Stance, Stopped, TaskMode, Test, Tier, Tool, ToolPattern, Updates,
    Used,
};
pub use tool::{Colors, Drawing, ImageProtocol, Look, Painted, Scene, Screen};
pub use tool::{Models, SessionEvent, SessionProvider, SessionView, TrustDomain};
pub use tool_registry::{
    McpServerConfig, RegisteredToolInfo, RegistryOptions, ToolRegistrationError,
    ToolRegistrationResult, ToolRegistry, ToolSource,
};

/// Trusting the projects that tools come from.
pub use trust::{
    Change, ConfigKey, How, PackageUse, Project, Review, Reviewed, ReviewedSettings, State, Store,
};

/// The formats that people write tools in, as editors and the documentation need them.
#[doc(hidden)]
pub mod formats {
    pub use crate::family::shell::{
        json_schema as shell_tool_schema, reference as shell_tool_reference,
    };
    pub use crate::trial::json_schema as tool_test_schema;
}

/// What the `haft` program does with its arguments. For the binary only.
#[doc(hidden)]
pub mod program {
    use std::ffi::OsString;
    use std::process::ExitCode;

    /// Runs the program for these arguments (the first is its own name) to its exit code.
    pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        let mut arguments = arguments.into_iter().peekable();
        let own_name = arguments.next();
        if arguments.peek().is_some_and(|word| word == super::READER) {
            return match crate::graph::serve_reader() {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            };
        }
        super::use_reader("/proc/self/exe");
        crate::surface::cli::run(own_name.into_iter().chain(arguments))
    }
}

/// The word with which `haft` is started to parse text of untrusted projects.
const READER: &str = "__reader";

/// Names the `haft` program that parses the text of untrusted projects for this process.
///
/// The `haft` program starts itself for that. A program that embeds this crate should name an
/// installed `haft` of the same version before it looks at a project; the first call counts. Without
/// it such text is parsed in the program itself: files of more than 2 MiB are not parsed then, and
/// what exhausts the memory exhausts that of the program.
pub fn use_reader(program: impl Into<std::path::PathBuf>) {
    let program = program.into();
    graph::set_reader(Box::new(move || {
        let started = process::Helper::start(&program, &["haft", READER]);
        let helper = started.inspect_err(|error| {
            tracing::warn!(%error, program = %program.display(), "no reader can be started");
        });
        Some(Box::new(Reader(helper.ok()?)) as Box<dyn graph::Reader>)
    }));
}

struct Reader(process::Helper);

impl graph::Reader for Reader {
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        let answer = self.0.ask(request);
        answer
            .inspect_err(|error| tracing::debug!(%error, "the reader does not answer"))
            .ok()
    }
}
