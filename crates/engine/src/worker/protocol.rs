//! Messages between haft and a worker process.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load_inputs::LoadTrace;
use crate::messages::{Answer, Ask, Withdrawn};
use crate::telemetry::{self, RelayedSpan};
use crate::verify::Verifier;
use crate::{CodePaths, EngineOptions, IsolateKey, Programs, ProjectOptions, ToolLog};
use haft_tool::{
    CodeFromData, Debugging, Isolation, LogLevel, Permission, PermissionKind, PermissionProfile,
    Replay, ReplayChannel, Tier, ToolRights, TrustDomain, VerifiedFiles,
};

/// First message on the main socket to the worker: what it is for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkerTask {
    /// Modules, in an isolate with these settings. [`ToWorker`] follows.
    Modules(Box<BootSettings>),
    /// Scripts and expressions: each byte that follows comes with the socket of a
    /// [`ScriptJob`](crate::script::protocol::ScriptJob). `heap_mb` sets V8 up.
    Scripts { heap_mb: u32 },
}

/// Message on the main socket to a worker for modules.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// A request or an order to the isolate.
    Ask(Ask),
    /// A ping, which the isolate's thread answers.
    Ping(u32),
    /// The answer to a query that JavaScript awaits.
    Reply(u32, Reply),
    /// The files that the project's modules may load from now on.
    Trust(TrustedFiles),
}

/// Message on the control socket to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Control {
    /// Take a request back before its tool starts.
    Withdraw { id: u32 },
    /// Report that the tool of a request runs, if it does and that was not reported.
    TellStart { id: u32 },
    /// Interrupt the render request `id`, if the isolate runs it now.
    InterruptRender { id: u32 },
    /// The answer to a query for which the isolate's thread waits.
    Reply(u32, Reply),
    /// End the isolate, whatever it is doing.
    Terminate { why: String },
    /// Open a session of V8's inspector.
    OpenInspector { session: u32 },
    /// A message of the debugger to a session.
    Inspect { session: u32, message: String },
    /// End a session.
    CloseInspector { session: u32 },
}

/// Message on the main socket to haft.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The isolate is ready, or could not be started.
    Booted(Result<(), String>),
    /// The answer to a request.
    Answer {
        id: u32,
        has_started: bool,
        answer: Answer,
    },
    /// The tool of a request runs.
    Started {
        id: u32,
    },
    Update {
        id: u32,
        text: String,
    },
    Pong(u32),
    Withdrawn {
        id: u32,
        withdrawn: Withdrawn,
    },
    LoadTraced {
        id: u32,
        trace: LoadTrace,
    },
    /// A file outside of the grant was loaded.
    Learned {
        path: PathBuf,
        digest: [u8; 32],
    },
    BuiltInsChanged {
        module: u32,
        what: String,
    },
    ProgramStarted {
        call: u32,
        program: String,
    },
    HostConnected {
        target: String,
    },
    /// An access of the tool that `haft permit --record` runs.
    Accessed {
        kind: PermissionKind,
        what: String,
    },
    WithdrawQuestion {
        id: u32,
    },
    TellUser {
        request: u32,
        owner: String,
        notice: String,
    },
    Paint {
        id: u32,
        lines: String,
    },
    Log {
        request: u32,
        level: u8,
        tool: String,
        message: String,
        context: String,
    },
    PendingDone {
        id: u32,
    },
    StartNested {
        request: u32,
        id: u32,
        tool: String,
        arguments: String,
    },
    CancelNested {
        id: u32,
    },
    /// An answer from outside, for the recording of a call.
    Recorded {
        call: u32,
        channel: Channel,
        request: String,
        answer: String,
    },
    KeepReplay {
        channel: Channel,
        request: String,
        answer: String,
    },
    /// A module waits for a debugger, or has one.
    WaitsForDebugger {
        waits: bool,
    },
    /// A message of a session to its debugger.
    Inspected {
        session: u32,
        message: String,
    },
    /// Spans of tools that have ended.
    Spans(Vec<RelayedSpan>),
    /// A query, which is answered by a [`Reply`] with the same number.
    Query(u32, Query),
    /// The isolate ends now, for this reason.
    Ending {
        why: String,
        is_out_of_memory: bool,
    },
    /// The isolate has ended: no request is answered any more.
    Ended,
    /// The last message of a worker that has ended, if no program is left that it has started.
    NothingLeft,
}

/// A query of the isolate to its callers, whose answer it needs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Query {
    Session,
    IsIdle,
    HasQueuedMessages,
    AbortAgent,
    AutoApprove {
        request: u32,
    },
    HasUser {
        request: u32,
        owner: String,
    },
    /// A question to the user about an access. The isolate's thread waits until it is answered.
    Permission {
        kind: PermissionKind,
        what: String,
    },
    AskUser {
        request: u32,
        owner: String,
        id: u32,
        question: String,
    },
    EditorText {
        request: u32,
        owner: String,
    },
    Canvas {
        request: u32,
        owner: String,
    },
    Show {
        request: u32,
        owner: String,
        id: u32,
    },
    NextTouch {
        id: u32,
    },
    NextOfNested {
        id: u32,
    },
    PushPending {
        id: u32,
        label: String,
    },
    PlayReplay {
        channel: Channel,
        request: String,
    },
}

impl Query {
    /// Returns true if JavaScript awaits the answer; for others its thread waits.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(
            self,
            Query::AskUser { .. }
                | Query::Show { .. }
                | Query::NextTouch { .. }
                | Query::NextOfNested { .. }
        )
    }
}

/// The answer to a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Text(String),
    Flag(bool),
    /// Nothing is known about that call.
    Unknown,
    Failed(String),
    /// The replay's decision to refuse a request.
    Refused(String),
}

/// [`ReplayChannel`] as it is sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Channel {
    Exec,
    Fetch,
}

impl From<ReplayChannel> for Channel {
    fn from(channel: ReplayChannel) -> Channel {
        match channel {
            ReplayChannel::Exec => Channel::Exec,
            ReplayChannel::Fetch => Channel::Fetch,
        }
    }
}

impl From<Channel> for ReplayChannel {
    fn from(channel: Channel) -> ReplayChannel {
        match channel {
            Channel::Exec => ReplayChannel::Exec,
            Channel::Fetch => ReplayChannel::Fetch,
        }
    }
}

/// Levels of log lines in the order of their numbers.
const LEVELS: [LogLevel; 4] = [
    LogLevel::Debug,
    LogLevel::Info,
    LogLevel::Warn,
    LogLevel::Error,
];

pub(crate) fn number_of(level: LogLevel) -> u8 {
    LEVELS
        .iter()
        .position(|one| *one == level)
        .unwrap_or_default() as u8
}

/// Returns the level with that number; an unknown one counts as an error.
pub(crate) fn level_of(number: u8) -> LogLevel {
    let level = LEVELS.get(usize::from(number)).copied();
    level.unwrap_or(LogLevel::Error)
}

/// The part of [`VerifiedFiles`] that modules need.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrustedFiles {
    project: PathBuf,
    alias: Option<PathBuf>,
    modules: HashMap<PathBuf, [u8; 32]>,
    code_from_text: u8,
    code_from_bytes: u8,
}

const RIGHTS: [CodeFromData; 3] = [
    CodeFromData::Never,
    CodeFromData::UntilFilesAreRead,
    CodeFromData::Always,
];

impl From<&VerifiedFiles> for TrustedFiles {
    fn from(files: &VerifiedFiles) -> TrustedFiles {
        let modules = files.modules.iter();
        let number = |right| {
            RIGHTS
                .iter()
                .position(|one| *one == right)
                .unwrap_or_default() as u8
        };
        TrustedFiles {
            project: files.project.clone(),
            alias: files.alias.clone(),
            modules: modules
                .map(|(path, digest)| (path.clone(), *digest.as_bytes()))
                .collect(),
            code_from_text: number(files.code_from_text),
            code_from_bytes: number(files.code_from_bytes),
        }
    }
}

impl From<TrustedFiles> for VerifiedFiles {
    fn from(files: TrustedFiles) -> VerifiedFiles {
        let modules = files.modules.into_iter();
        let right = |number: u8| RIGHTS.get(usize::from(number)).copied().unwrap_or_default();
        VerifiedFiles {
            project: files.project,
            alias: files.alias,
            modules: modules
                .map(|(path, digest)| (path, digest.into()))
                .collect(),
            code_from_text: right(files.code_from_text),
            code_from_bytes: right(files.code_from_bytes),
            ..VerifiedFiles::default()
        }
    }
}

/// Settings of the isolate of a worker: the part of [`EngineOptions`] that is data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BootSettings {
    cwd: PathBuf,
    heap_mb: u32,
    /// Files that are loaded soon.
    pub(crate) files: Vec<PathBuf>,
    session_id: String,
    grace: Duration,
    load_timeout: Duration,
    unasked: Tier,
    auto_approve: bool,
    env: BTreeMap<String, Option<String>>,
    cache: Option<PathBuf>,
    domain: u8,
    isolation: u8,
    /// JSON, because permissions describe themselves.
    permissions: String,
    pub(crate) keeps_detached: bool,
    pub(crate) has_replay: bool,
    debugging: Debugging,
    /// The spans of tools go to haft's process.
    pub(crate) sends_spans: bool,
    pub(crate) verifier: Option<VerifierSettings>,
}

/// The verifier of a project's modules.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VerifierSettings {
    pub(crate) files: TrustedFiles,
    pub(crate) is_learning: bool,
}

const DOMAINS: [TrustDomain; 3] = [
    TrustDomain::User,
    TrustDomain::Plugins,
    TrustDomain::Project,
];

/// Lets modules read the packages that they load: a package reads its own data. The sandbox grants
/// them, too.
fn add_packages(read: &mut Permission, code: &CodePaths) {
    let (Permission::List(allow)
    | Permission::Except {
        allow: Some(allow), ..
    }) = read
    else {
        return;
    };
    let above = code.folder.ancestors().filter_map(|folder| {
        // A link of the project's author could lead anywhere.
        let packages = folder.join("node_modules").canonicalize().ok()?;
        packages.starts_with(folder).then_some(packages)
    });
    let is_package = |path: &&PathBuf| path.iter().any(|part| part == "node_modules");
    let trusted = code.trusted.iter().filter(is_package);
    for packages in above.chain(trusted.cloned()) {
        if let Some(packages) = packages.to_str()
            && !allow.iter().any(|entry| entry == packages)
        {
            allow.push(packages.to_owned());
        }
    }
}

impl BootSettings {
    /// Returns the settings for an isolate with this key. `tmp` is its private folder, and `files` are
    /// loaded soon.
    pub(crate) fn new(
        options: &EngineOptions,
        key: &IsolateKey,
        tmp: Option<&Path>,
        files: Vec<PathBuf>,
    ) -> BootSettings {
        let mut permissions = PermissionProfile::clone(&key.permissions);
        if let Some(code) = &key.code {
            add_packages(&mut permissions.read, code);
        }
        let permissions = match tmp {
            Some(tmp) => permissions.with_tmpdir(tmp),
            None => permissions,
        };
        let verifier = options.verifier_of(key.domain);
        let domain = DOMAINS.iter().position(|one| *one == key.domain);
        let isolation = Isolation::ALL.iter().position(|one| *one == key.isolation);
        BootSettings {
            cwd: options.cwd.clone(),
            heap_mb: options.heap_mb,
            files,
            session_id: options.session_id.clone(),
            grace: options.grace,
            load_timeout: options.load_timeout,
            unasked: options.unasked,
            auto_approve: options.auto_approve,
            env: options.env.clone(),
            cache: options.cache.as_deref().map(|cache| key.cache_in(cache)),
            domain: domain.unwrap_or_default() as u8,
            isolation: isolation.unwrap_or_default() as u8,
            permissions: serde_json::to_string(&permissions)
                .expect("permissions are lists of texts"),
            keeps_detached: options.keeps_detached,
            has_replay: options.tape.is_some(),
            debugging: options.debugging.clone(),
            sends_spans: telemetry::is_on(),
            verifier: verifier.map(|verifier| VerifierSettings {
                files: TrustedFiles::from(&*verifier.files()),
                is_learning: verifier.is_learning(),
            }),
        }
    }

    /// Returns the key of the isolate.
    pub(crate) fn key(&self) -> Result<IsolateKey, String> {
        let permissions: PermissionProfile =
            serde_json::from_str(&self.permissions).map_err(|error| error.to_string())?;
        let isolation = Isolation::ALL.get(usize::from(self.isolation)).copied();
        let domain = DOMAINS.get(usize::from(self.domain)).copied();
        Ok(IsolateKey {
            domain: domain.ok_or("the trust domain is unknown")?,
            permissions: permissions.into(),
            isolation: isolation.ok_or("the isolation is unknown")?,
            code: None,
        })
    }

    /// Returns the options of the isolate. `programs` and `tape` are those of the worker.
    pub(crate) fn into_options(
        self,
        key: &IsolateKey,
        programs: Arc<dyn Programs>,
        tape: Option<Arc<dyn Replay>>,
        verifier: Option<Arc<Verifier>>,
    ) -> EngineOptions {
        EngineOptions {
            cwd: self.cwd,
            heap_mb: self.heap_mb,
            session_id: self.session_id,
            grace: self.grace,
            load_timeout: self.load_timeout,
            // haft's process asks the user, and stores the answer.
            permits: None,
            granted: Arc::default(),
            rights: ToolRights {
                permissions: key.permissions.clone(),
                isolation: key.isolation,
            },
            project: ProjectOptions {
                heap_mb: self.heap_mb,
                grace: self.grace,
                load_timeout: self.load_timeout,
            },
            unasked: self.unasked,
            programs,
            workers: None,
            runtime: None,
            keeps_detached: self.keeps_detached,
            // Lines go to haft's process through the `HostLink`.
            log: Arc::new(NoLog),
            tape,
            env: self.env,
            supports_pending_actions: true,
            default_user: Arc::default(),
            session: Arc::default(),
            auto_approve: self.auto_approve,
            verifier,
            cache: self.cache,
            debugging: self.debugging,
        }
    }
}

/// The log of a process in which nothing is logged.
struct NoLog;

impl ToolLog for NoLog {
    fn log(&self, _: TrustDomain, _: LogLevel, _: &str, _: &str, _: &str) {}
}
