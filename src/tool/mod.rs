//! The vocabulary of haft: the types of tools, calls and results.
//!
//! Nothing here performs I/O, starts processes or depends on a family. All other modules use these
//! types, so every surface sees a field that is added here.

mod approval;
mod call;
mod change;
pub(crate) mod clock;
pub(crate) mod consent;
mod domain;
mod drawing;
mod ending;
pub(crate) mod excerpt;
mod found;
mod hints;
pub(crate) mod json;
mod log;
mod moment;
mod nearest;
pub(crate) mod panic;
mod permissions;
mod place;
mod problem;
pub(crate) mod queue;
mod runner;
mod scan;
pub(crate) mod schema;
mod session;
mod standing;
mod tape;
mod trace;
mod ui;
mod user;
mod verified;
pub(crate) mod visible;
mod widget;

pub use approval::{
    Approval, ApprovalMode, ApprovalPolicy, ApprovalRequest, Approver, Decision, Rule, Stance,
};
pub use call::{Block, Call, Contents, Event, Link, Outcome, Stopped};
pub use change::CatalogChange;
pub use domain::TrustDomain;
pub use drawing::{Colors, Drawing, ImageProtocol, Look, Painted, Scene, Screen};
pub(crate) use ending::Ending;
pub use found::{ArgumentOrder, Family, Level, Source, Tier, Tool, Used};
pub use hints::{ClientHints, TaskMode};
pub use log::{LogLevel, LogLine, LogListener};
pub(crate) use moment::Moment;
pub(crate) use nearest::nearest;
pub use permissions::{Permission, PermissionKind, PermissionProfile, PermissionSource};
pub(crate) use place::place_after;
pub(crate) use problem::TRUST_HINT;
pub use problem::{Problem, Severity};
pub use runner::{CallCtx, Gate, NotAdmitted, Progress, Runner, Test, Updates};
pub use scan::ScanState;
pub use session::{CurrentSession, Models, SessionEvent, SessionProvider, SessionView};
pub use standing::ToolPattern;
pub use tape::{Played, Reach, Tape};
pub(crate) use trace::CallTrace;
pub use ui::{Answer, Asked, Notice, NoticeLevel, Question, Speaker, Told, UserInterface};
pub use user::{DefaultUser, MOST_QUESTIONS, TooManyQuestions, User};
pub use verified::{CodeFromData, Unverified, VerifiedEntry, VerifiedFiles};
pub(crate) use widget::Puppet;
pub use widget::{Canvas, Touch, Touches, Widget};
