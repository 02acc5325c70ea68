//! One line of the log, as it is written and read.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use haft_config::{LoggedArguments, Permission, PermissionKind, PermissionProfile};
use haft_tool::{Block, Outcome as ToolOutcome, Stopped};
use haft_tool::{Error, ErrorKind};

/// Maximum length of a name, in characters. Callers choose names, so longer ones are cut.
const MAX_NAME_LEN: usize = 200;

/// One line of the log. Unknown fields of later versions are ignored by readers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the line over all files: one more than that of the line before.
    pub n: u64,
    /// BLAKE3 hash of the bytes of the line before, in hexadecimal digits; zeros in the first line.
    pub prev: String,
    /// Time when it was written, UTC.
    pub at: String,
    /// Id of the haft process that wrote it.
    pub pid: u32,
    /// The recorded event.
    #[serde(flatten)]
    pub event: Event,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The log begins.
    LogCreated {
        /// haft's version.
        version: String,
    },
    /// A call is still running after a short time. The line of its end has the same `run`.
    CallStarted(Box<RecordedCall>),
    /// A call ended.
    Call(Box<RecordedCall>),
    /// The user trusted a project.
    TrustGranted {
        /// Its real path.
        project: String,
        /// Number of tools.
        tools: usize,
        /// The hash of the grant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
        /// The caller that granted it.
        by: Caller,
    },
    /// The user revoked that trust.
    TrustRevoked {
        /// Its real path.
        project: String,
        /// The caller that revoked it.
        by: Caller,
    },
    /// A token was created.
    TokenCreated {
        /// Name of the token; never the token itself.
        token: String,
        /// Description of its rights, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        /// Expiry time, UTC; missing if it does not expire.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<String>,
        /// The caller that created it.
        by: Caller,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Its name.
        token: String,
        /// The caller that revoked it.
        by: Caller,
    },
    /// A server started to listen.
    ServerStarted {
        /// The surface: `rest`, `mcp-http`, …
        surface: String,
        /// Address or socket path that it listens on.
        address: String,
        /// The caller that started it.
        by: Caller,
    },
    /// A server ended in an orderly way.
    ServerStopped {
        /// The surface.
        surface: String,
        /// Address or socket path that it listened on.
        address: String,
    },
    /// The log was rotated and its oldest files were deleted, as the configuration says.
    LogDropped {
        /// Number of the last dropped line.
        to: u64,
        /// Its hash.
        hash: String,
    },
    /// A writer was stopped while it wrote the line before this one.
    LogTorn {
        /// BLAKE3 hash of the incomplete line.
        fragment: String,
        /// Length of the incomplete line.
        bytes: u64,
    },
    /// Some lines could not be written.
    LogLost {
        /// Number of lost lines.
        lines: u64,
        /// Reason of the loss.
        why: String,
    },
    /// The end of the log differed from the end that haft had written.
    LogDamaged {
        /// Description of the damage.
        why: String,
    },
}

/// Origin of a call or of another recorded action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The surface: `cli`, `repl`, `mcp`, `mcp-http`, `rest`, `rpc`, `sdk`, `nats`.
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
    /// User id of the peer. For standard streams it is our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Process id of the peer. For standard streams it is that of the process that started haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// Name of that process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// A call, with all that is known of it so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// Id of the call in the log: the same in all its lines, and unique.
    pub run: String,
    /// Id that the caller gave to the call.
    pub call: String,
    /// Id of the call that this call is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Id of the trace that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Name of the host that ran the call: of another one, or of this one if it served the call to
    /// another one. Missing for a call on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Tenant whose call this host served over NATS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Tenant in whose queue the call was put, or from which it was taken. Missing for a call that was
    /// made directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The caller.
    pub caller: Caller,
    /// The directory that haft works in.
    pub cwd: String,
    /// Family of the tool; missing if the tool is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Level of the tool: `user`, `project` or `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The tool's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The hash of the grant under which a project's tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Permissions of the tool: `all`, or the kinds of access that are limited.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rights: String,
    /// Separation of the tool from haft with its profile and the mechanisms that enforced it.
    /// Missing without a separation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Content>,
    /// Approval decision with its rule. Missing if the call ended before the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<DecisionRecord>,
    /// Start time, UTC.
    pub started: String,
    /// End time, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// Outcome of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Reason of the outcome: the kind of error or stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Hash and length of the result. Its text is never recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Digest>,
    /// Programs that the call started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Hosts that the call connected to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// True if there were more programs or hosts than are recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The tool answered.
    Ok,
    /// The tool reported a failure, or haft failed to run it to its end.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Its deadline passed.
    Timeout,
    /// Refused before the tool started: approval, trust, arguments.
    Refused,
}

/// Hash and length of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// BLAKE3, in hexadecimal digits.
    pub blake3: String,
    /// Its length.
    pub bytes: u64,
}

/// Arguments of a call, recorded as the configuration says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Hash and length.
    #[serde(flatten)]
    pub digest: Digest,
    /// The JSON text itself, with `arguments: full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Approval decision on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// `allowed`, `denied`, `asked: allowed`, `asked: denied` or `nobody to ask`.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
}

impl Event {
    /// Returns the call that the line is about.
    pub fn call(&self) -> Option<&RecordedCall> {
        match self {
            Event::CallStarted(call) | Event::Call(call) => Some(call),
            _ => None,
        }
    }
}

impl Caller {
    /// Returns a caller on `surface` without further details.
    pub fn on(surface: impl Into<String>) -> Caller {
        Caller {
            surface: surface.into(),
            ..Caller::default()
        }
    }

    /// Returns the parent process of haft as the caller, for standard streams and command lines.
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

    /// Returns the caller in a few words: its surface and its most specific name.
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

/// Returns the name of a running process.
fn program_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

impl Outcome {
    /// Returns the outcome as surfaces print it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Cuts a name that a caller chose to [`MAX_NAME_LEN`] characters.
pub(super) fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_LEN) {
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", &name[..at]),
    }
}

/// Returns the arguments as the settings want them recorded.
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

/// Returns the hash of the model's content: the texts and data of its blocks, in order.
pub(crate) fn digest_of_outcome(outcome: &ToolOutcome) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        hasher.update(part.as_bytes());
    };
    for block in &outcome.content {
        match block {
            Block::Text { text, .. } => add(text),
            Block::Image { data, .. } | Block::Audio { data, .. } => add(data),
            Block::Resource { resource, .. } => {
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

/// Returns the outcome of a call, and the kind of error or stop as its reason.
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
            ErrorKind::Unavailable => (Outcome::Refused, Some("unavailable")),
            ErrorKind::Limited => (Outcome::Refused, Some("limit")),
            ErrorKind::Lost => (Outcome::Failed, Some("host lost")),
            // `Internal`, and any kind without a row here.
            _ => (Outcome::Failed, Some("internal")),
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

/// Returns the permissions in one line: `all`, or the limited kinds.
pub(super) fn rights(profile: &PermissionProfile) -> String {
    let bounded = PermissionKind::ALL.iter().filter_map(|kind| {
        Some(match profile.of(*kind) {
            Permission::All => return None,
            Permission::None => format!("{kind}: none"),
            Permission::List(names) => format!("{kind}: [{}]", names.join(", ")),
            Permission::Except { allow, deny } => {
                let allow = allow.as_deref().unwrap_or_default();
                let (allow, deny) = (allow.join(", "), deny.join(", "));
                format!("{kind}: {{allow: [{allow}], deny: [{deny}]}}")
            }
        })
    });
    let bounded: Vec<_> = bounded.collect();
    if bounded.is_empty() {
        "all".to_owned()
    } else {
        bounded.join(", ")
    }
}
