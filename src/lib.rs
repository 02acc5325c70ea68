//! haft, a tool host: finds tools for LLM agents in several formats and languages, and runs them
//! safely and fast for any agent.
//!
//! Start with [`Host`]: create one from a [`Config`], read its [`Catalog`], and call a tool. An
//! example with a tool of your own:
//!
//! ```no_run,standalone_crate
#![doc = include_str!("../tests/it/examples/custom_tool.rs")]
//! ```

#![deny(missing_docs)]
#![cfg_attr(
    not(feature = "cli"),
    allow(
        dead_code,
        unused_imports,
        reason = "some of it is used by the surfaces only"
    )
)]

mod transcript;

/// Protects the embedding program from programs that tools start; see `docs/limits.md`.
pub use haft_process::harden as protect_process;

mod family;
pub mod trust;

mod registry;

mod execute;

pub mod audit;

mod watch;

mod host;

pub mod code;
mod custom_tools;
mod tool_registry;

// The program, with its surfaces and what only they use.
#[cfg(feature = "cli")]
mod agent_runs;
#[cfg(feature = "cli")]
mod agents;
#[cfg(feature = "cli")]
mod bundle;
#[cfg(feature = "cli")]
mod credentials;
#[cfg(feature = "cli")]
mod event_log;
#[cfg(feature = "cli")]
mod install;
#[cfg(feature = "cli")]
mod surface;
#[cfg(feature = "cli")]
mod telemetry;
#[cfg(feature = "cli")]
mod tool_files;
#[cfg(feature = "cli")]
mod tool_test;

pub use family::custom::{CustomTool, Invocation, ToolOutput};
pub use family::js::run_worker_process;
pub use haft_config::{Config, Flags};
pub use haft_tool::{
    Block, Call, Cancellation, Error, ErrorKind, Event, Outcome, Problem, Severity, Tier, Tool,
};
pub use host::{Host, HostBuilder, Loaded, Reload, RunningCall, TrustPolicy, WatchGuard};
pub use registry::{Catalog, Entry};

/// Approval of calls: the policy, the tools' own rules, and the prompt to the user.
pub mod approval {
    pub use haft_tool::{
        AnswerScope, Approval, ApprovalMode, ApprovalPolicy, ApprovalRequest, ApprovalRequirement,
        Approver, Decision, Rule, RunApprovalRequest, RunDecision, ToolPattern,
    };
}

/// Parts of a call, for programs that run tools of a catalog by themselves.
pub mod call {
    pub use haft_tool::{CallCtx, Contents, Gate, Link, Progress, Runner, Stopped, Test, Updates};
}

/// Description of a tool in a catalog, and changes of the catalog.
pub mod catalog {
    pub use haft_discover::{LookedAt, Verdict};
    pub use haft_tool::{
        ArgumentOrder, CatalogChange, ClientHints, Family, Level, ScanState, Source, TaskMode,
        ToolRef, TrustDomain,
    };
}

/// APIs of other tool hosts over a [`Host`].
pub mod compat {
    /// oh-my-pi's loader of custom tools.
    pub mod omp {
        pub use crate::custom_tools::{
            CustomToolSource, LoadedCustomTool, LoadedCustomTools, ToolLoadError, ToolPath,
            discover_and_load_custom_tools, discover_custom_tool_paths, load_custom_tools,
        };
        pub use crate::host::HostExt;
    }
    /// aynd's registry of tools.
    pub mod aynd {
        pub use crate::tool_registry::{
            McpServerConfig, RegisteredToolInfo, RegistryOptions, ToolRegistrationError,
            ToolRegistrationResult, ToolRegistry, ToolSource,
        };
    }
}

/// Configuration of a host: what flags, variables and files say, resolved once.
pub mod config {
    pub use haft_config::{
        Agents, Aynd, CodeListing, CodeSettings, Config, CustomTools, Env, FileUse, Flags, Ikigai,
        Limits, ListenAddress, LogSettings, LoggedArguments, Mcp, McpFlags, McpToolSettings,
        Narrowing, Permission, PermissionKind, PermissionProfile, PermissionSource, Roots, Serve,
        ServeFlags, Sessions, Structured, TelemetrySettings, Token, parse_duration,
    };
    pub use haft_tool::Isolation;
}

/// Rendering of calls and results as lines for a terminal.
pub mod render {
    pub use haft_render::{
        Colors, Drawing, ImageProtocol, RawRender, RenderOptions, RenderTarget, Screen, safe_lines,
    };
    pub use haft_tool::{TerminalText, TerminalValue};
}

/// Lines that tools log.
pub mod log {
    pub use haft_tool::{LogLevel, LogLine, LogListener};
}

/// Session (conversation) that calls belong to.
///
/// An agent that gives its conversation to tools:
///
/// ```no_run,standalone_crate
#[doc = include_str!("../tests/it/examples/session.rs")]
/// ```
pub mod session {
    pub use crate::transcript::SessionFile;
    pub use haft_tool::{Models, SessionEvent, SessionProvider, SessionView};
}

/// User of a surface: the questions and notifications of tools, and their widgets.
///
/// A user interface of a program's own:
///
/// ```no_run,standalone_crate
#[doc = include_str!("../tests/it/examples/user_interface.rs")]
/// ```
pub mod ui {
    pub use haft_tool::{
        Answer, InputEvent, InputSender, MAX_QUESTIONS, NoticeLevel, Notification,
        NotificationFrom, Prompt, PromptOrigin, Question, TooManyQuestions, User, UserInterface,
        Widget, WidgetSurface,
    };
}

/// Schemas and reference of the tool formats, for editors and documentation.
pub mod formats {
    pub use crate::family::shell::{
        json_schema as shell_tool_schema, reference as shell_tool_reference,
    };
    #[cfg(feature = "cli")]
    pub use crate::tool_test::json_schema as tool_test_schema;
}

/// Entry point of the `haft` program.
#[cfg(feature = "cli")]
pub mod program {
    use std::ffi::OsString;
    use std::process::ExitCode;

    /// Runs the program with these arguments, of which the first is its own name, and returns its
    /// exit code.
    pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        crate::run_worker_process();
        crate::surface::cli::run(arguments)
    }
}
