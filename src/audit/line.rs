//! One line of the log, as it is written and read.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::config::{LoggedArguments, Permission, PermissionProfile};
use crate::error::{Error, ErrorKind};
use crate::tool::{Block, Outcome as ToolOutcome, Stopped};

/// A name longer than this is cut: names come from callers.
const MAX_NAME_LEN: usize = 200;

/// One line of the log. Unknown fields of later versions are kept out of the way of readers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, one more than that of the line before, over all files.
    pub n: u64,
    /// The BLAKE3 hash of the bytes of the line before, in hexadecimal digits; zeros at the first line.
    pub prev: String,
    /// When it was written, UTC.
    pub at: String,
    /// The haft process that wrote it.
    pub pid: u32,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The log begins.
    LogCreated {
        /// haft's version.
        version: String,
    },
    /// A call runs longer than a moment. Its end is another line of the same `run`.
    CallStarted(Box<RecordedCall>),
    /// A call ended.
    Call(Box<RecordedCall>),
    /// The user trusted a project.
    TrustGranted {
        /// Its real path.
        project: String,
        /// How many tools.
        tools: usize,
        /// The hash of the grant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
        /// Who did it.
        by: Caller,
    },
    /// The user took that back.
    TrustRevoked {
        /// Its real path.
        project: String,
        /// Who did it.
        by: Caller,
    },
    /// A token was made.
    TokenCreated {
        /// Its name; never the token.
        token: String,
        /// What it allows, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        /// Until when, UTC; without an end if missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<String>,
        /// Who did it.
        by: Caller,
    },
    /// A token was taken back.
    TokenRevoked {
        /// Its name.
        token: String,
        /// Who did it.
        by: Caller,
    },
    /// A server started to listen.
    ServerStarted {
        /// Which surface: `rest`, `mcp-http`, …
        surface: String,
        /// Where it listens: an address or the path of a socket.
        address: String,
        /// Who did it.
        by: Caller,
    },
    /// It ended in an orderly way.
    ServerStopped {
        /// Which surface.
        surface: String,
        /// Where it listened.
        address: String,
    },
    /// The log was rotated and its oldest files were deleted, as the configuration says.
    LogDropped {
        /// The last line that is gone.
        to: u64,
        /// Its hash.
        hash: String,
    },
    /// A writer was stopped in the middle of the line before this one.
    LogTorn {
        /// The BLAKE3 hash of what it had written.
        fragment: String,
        /// How long that is.
        bytes: u64,
    },
    /// So many lines could not be written.
    LogLost {
        /// How many.
        lines: u64,
        /// Why.
        why: String,
    },
    /// The end of the log was not as haft left it.
    LogDamaged {
        /// What is wrong.
        why: String,
    },
}

/// Who made a call, or did something else that is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The surface: `cli`, `repl`, `mcp`, `mcp-http`, `rest`, `rpc`, `sdk`.
    pub surface: String,
    /// The name of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The name that an MCP or RPC client gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The address of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The peer's user: of standard streams our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The peer's process: of standard streams the one that started haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The name of that process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// A call, with all that is known of it so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The same in all lines of one call, and in no other's.
    pub run: String,
    /// The caller's id for it.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// Who called.
    pub caller: Caller,
    /// The directory that haft works in.
    pub cwd: String,
    /// The tool's family; missing where there is no such tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Whose the tool is: `user`, `project` or `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The tool's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The hash of the grant under which a project's tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// What the tool may touch: `all`, or the kinds of access that are bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rights: String,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Content>,
    /// Whether it was allowed to start, and by which rule. Missing where it did not come to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<DecisionRecord>,
    /// When the call came, UTC.
    pub started: String,
    /// When it ended, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// More about that: the kind of error or stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The result: never its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Digest>,
    /// The programs that it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// The hosts that it connected to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// There were more programs or hosts than are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The tool answered.
    Ok,
    /// The tool reports a failure, or haft lost it.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Its time was up.
    Timeout,
    /// Nothing was started: approval, trust, arguments.
    Refused,
}

/// A text that is not kept: its hash and its length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// BLAKE3, in hexadecimal digits.
    pub blake3: String,
    /// Its length.
    pub bytes: u64,
}

/// Arguments as the configuration wants them kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Hash and length.
    #[serde(flatten)]
    pub digest: Digest,
    /// The JSON text itself, with `arguments: full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Whether a call was allowed to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// `allowed`, `denied`, `asked: allowed`, `asked: denied` or `nobody to ask`.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
}

impl Event {
    /// The call that the line is about.
    pub fn call(&self) -> Option<&RecordedCall> {
        match self {
            Event::CallStarted(call) | Event::Call(call) => Some(call),
            _ => None,
        }
    }
}

impl Caller {
    /// A caller on `surface`, of whom nothing else is known.
    pub fn on(surface: impl Into<String>) -> Caller {
        Caller {
            surface: surface.into(),
            ..Caller::default()
        }
    }

    /// The process that started this one and speaks to it by its standard streams or arguments.
    pub fn parent(surface: impl Into<String>) -> Caller {
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        let process = parent.and_then(|pid| u32::try_from(pid).ok());
        Caller {
            uid: Some(rustix::process::getuid().as_raw()),
            process,
            program: process.and_then(program_name),
            ..Caller::on(surface)
        }
    }

    /// The caller in a few words: who it is rather than what it is.
    pub fn summary(&self) -> String {
        let who = (self.token.as_deref())
            .or(self.client.as_deref())
            .or(self.program.as_deref())
            .or(self.address.as_deref());
        match who {
            Some(who) => format!("{} {who}", self.surface),
            None => self.surface.clone(),
        }
    }
}

/// The name of a running process.
fn program_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

impl Outcome {
    /// As surfaces print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
            Outcome::Timeout => "timeout",
            Outcome::Refused => "refused",
        }
    }
}

/// A name that a caller chose, cut to a bearable length.
pub(super) fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_LEN) {
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", &name[..at]),
    }
}

/// The arguments as the settings want them kept.
pub(crate) fn digest_of_arguments(
    arguments: &RawValue,
    settings: LoggedArguments,
) -> Option<Content> {
    let text = arguments.get();
    let digest = || Digest {
        blake3: blake3::hash(text.as_bytes()).to_hex().to_string(),
        bytes: text.len() as u64,
    };
    let content = |text| Content {
        digest: digest(),
        text,
    };
    match settings {
        LoggedArguments::None => None,
        LoggedArguments::Digest => Some(content(None)),
        LoggedArguments::Full => Some(content(Some(text.to_owned()))),
    }
}

/// The hash of what the model gets: the texts and data of its blocks, one after another.
pub(crate) fn digest_of_outcome(outcome: &ToolOutcome) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        hasher.update(part.as_bytes());
    };
    for block in &outcome.content {
        match block {
            Block::Text { text } => add(text),
            Block::Image { data, .. } | Block::Audio { data, .. } => add(data),
            Block::Resource { resource } => {
                add(&resource.uri);
                add(resource.text.as_deref().unwrap_or_default());
                add(resource.blob.as_deref().unwrap_or_default());
            }
            Block::ResourceLink(link) => add(&link.uri),
        }
    }
    Digest {
        bytes: hasher.count(),
        blake3: hasher.finalize().to_hex().to_string(),
    }
}

/// How a call ended, with the kind of error or stop.
pub(crate) fn outcome_of(ended: &Result<ToolOutcome, Error>) -> (Outcome, Option<&'static str>) {
    match ended {
        Ok(outcome) => match outcome.stopped {
            Some(why) => (stopped(why), Some(why.as_str())),
            None if outcome.is_error => (Outcome::Failed, None),
            None => (Outcome::Ok, None),
        },
        Err(error) => match error.kind() {
            ErrorKind::Usage => (Outcome::Refused, Some("usage")),
            ErrorKind::BadArguments => (Outcome::Refused, Some("arguments")),
            ErrorKind::NoSuchTool => (Outcome::Refused, Some("no such tool")),
            ErrorKind::Untrusted => (Outcome::Refused, Some("untrusted")),
            ErrorKind::Denied => (Outcome::Refused, Some("approval")),
            ErrorKind::Load => (Outcome::Refused, Some("load")),
            ErrorKind::Stopped(why) => (stopped(why), Some(why.as_str())),
            ErrorKind::IsolateLost => (Outcome::Failed, Some("isolate lost")),
            ErrorKind::Internal => (Outcome::Failed, Some("internal")),
        },
    }
}

fn stopped(why: Stopped) -> Outcome {
    match why {
        Stopped::Deadline => Outcome::Timeout,
        Stopped::Cancelled | Stopped::HostShutdown => Outcome::Cancelled,
        Stopped::Discarded => Outcome::Failed,
    }
}

/// The rights in one line: `all`, or what is bounded.
pub(super) fn rights(profile: &PermissionProfile) -> String {
    let kinds = [
        ("read", &profile.read),
        ("write", &profile.write),
        ("net", &profile.net),
        ("env", &profile.env),
        ("run", &profile.run),
        ("sys", &profile.sys),
        ("ffi", &profile.ffi),
        ("import", &profile.import),
    ];
    let bounded = kinds.iter().filter_map(|(kind, permission)| {
        Some(match permission {
            Permission::All => return None,
            Permission::None => format!("{kind}: none"),
            Permission::List(names) => format!("{kind}: [{}]", names.join(", ")),
            Permission::Except { allow, deny } => {
                let (allow, deny) = (allow.join(", "), deny.join(", "));
                format!("{kind}: {{allow: [{allow}], deny: [{deny}]}}")
            }
        })
    });
    let bounded: Vec<_> = bounded.collect();
    match bounded.is_empty() {
        true => "all".to_owned(),
        false => bounded.join(", "),
    }
}
