//! The vocabulary of haft: the types of tools, calls and results.
//!
//! Nothing here performs I/O, starts processes or depends on a family. All other modules use these
//! types, so every surface sees a field that is added here.

// The expansion of `terminal_text!` names the crate.
extern crate self as haft_tool;

mod access_decision;
pub mod accesses;
mod approval;
mod approval_policy;
mod call;
mod cancellation;
mod change;
pub mod consent;
pub mod deadline;
mod debugging;
mod definition;
pub mod error;
pub mod excerpt;
mod hints;
mod host_pattern;
mod isolation;
pub mod json;
mod log;
mod name_skeleton;
mod nested;
pub mod panic;
mod permissions;
mod place;
mod problem;
pub mod provider_schema;
pub mod queue;
pub mod quotes;
mod recording;
mod render;
mod replay;
mod request;
mod run_approval;
mod runner;
mod scan;
pub mod schema;
mod scope;
mod session;
mod source;
mod suggest;
mod terminal_text;
mod timestamp;
mod trace;
mod trace_context;
pub mod types;
mod ui;
mod user;
mod verified;
pub mod visible;

pub use access_decision::{AccessDecision, AccessRule, AccessTarget, SeparatedLists};
pub use approval::{
    AnswerScope, Approval, ApprovalMemory, ApprovalMode, ApprovalPolicy, ApprovalRequest,
    ApprovalRequirement, Approver, Decision, Rule, RunApprovalRequest, RunDecision, ToolPattern,
};
pub use call::{Block, Call, Contents, Event, Link, Outcome, ServerError};
pub use cancellation::{Cancellation, Stopped};
pub use change::CatalogChange;
pub use deadline::{LateGrant, Progress, Updates};
pub use debugging::Debugging;
pub use definition::{ArgumentOrder, Dialect, Tier, Tool, ToolRef};
pub use error::{Error, ErrorKind};
pub use haft_tool_macros::terminal_text;
pub use hints::{ClientHints, TaskMode};
pub use isolation::{Isolation, ToolBounds, ToolRights};
pub use log::{LogLevel, LogLine, LogListener};
pub use name_skeleton::name_skeleton;
pub use nested::NestedCalls;
pub use permissions::{
    LeftOutPath, Permission, PermissionKind, PermissionProfile, PermissionSource, ProfileSource,
    TOOL_PLACEHOLDER, permit_command, shell_word, with_permit_target, with_tool_name,
};
pub use place::{Place, code_frame, place_after};
pub use problem::TRUST_HINT;
pub use problem::{Problem, Severity};
pub use recording::{CallRecording, OpenQuestion, Recorded, RecordedEvent, ServedTool};
pub use render::{Colors, Drawing, ImageProtocol, RawRender, RenderOptions, RenderTarget, Screen};
pub use replay::{Replay, ReplayAnswer, ReplayChannel};
pub use request::{
    PermissionRequest, RequestedAccess, RequestedKinds, access_of_text, requested_kinds,
};
pub use run_approval::ask_user_for_run;
pub use runner::{CallCtx, Gate, McpClient, Runner, Test};
pub use scan::ScanState;
pub use scope::{CallerScope, ToolNames, USER_ID};
pub use session::{CurrentSession, Models, SessionEvent, SessionProvider, SessionView};
pub use source::{Family, Level, Source, TrustDomain};
pub use suggest::{MIN_SIMILARITY, did_you_mean, known_here, similarity, suggest};
pub use terminal_text::{FRAME, TerminalText, TerminalValue};
pub use timestamp::{Timestamp, since_1970};
pub use trace::CallTrace;
pub use trace_context::TraceContext;
pub use ui::{
    Answer, Forwarded, InputEvent, InputSender, NoticeLevel, Notification, NotificationFrom,
    Prompt, PromptOrigin, Question, UserInterface, Widget, WidgetHandle, WidgetSurface,
};
pub use user::{DefaultUser, MAX_QUESTIONS, TooManyQuestions, User};
pub use verified::{CodeFromData, Unverified, VerifiedEntry, VerifiedFiles};
