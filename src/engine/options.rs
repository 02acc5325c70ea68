//! What an engine is given: limits, rights, and whoever does for it what it may not do itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::tool::{CurrentSession, DefaultUser, LogLevel, Tape, TrustDomain};

/// What an engine needs to know and have.
#[derive(Clone)]
pub struct EngineOptions {
    /// `pi.cwd`, absolute.
    pub cwd: PathBuf,
    /// V8's heap limit of one isolate, in MB.
    pub heap_mb: u32,
    /// How many isolates modules may be spread over.
    pub isolates: u32,
    /// `ctx.sessionId`.
    pub session_id: String,
    /// How long a call may go on after its AbortSignal fired.
    pub grace: Duration,
    /// How long importing a module and running its factory may take.
    pub load_timeout: Duration,
    /// What Web and Node APIs may touch.
    pub access: Arc<Access>,
    /// Starts and stops programs.
    pub programs: Arc<dyn Programs>,
    /// Takes what tools say.
    pub log: Arc<dyn ToolLog>,
    /// Stands between `fetch` and the network, in tests of tools.
    pub tape: Option<Arc<dyn Tape>>,
    /// What is different for tools from the process's environment; `None`: it is not there.
    pub env: BTreeMap<String, Option<String>>,
    /// Previewed actions can be resolved later.
    pub has_later: bool,
    /// Whom tools ask where no call's own user is known.
    pub default_user: Arc<DefaultUser>,
    /// The conversation that calls belong to.
    pub session: Arc<CurrentSession>,
    /// `ctx.autoApprove` outside of calls: they run without a question.
    pub auto_approve: bool,
    /// The folder for what can be made again; `None`: remember nothing.
    pub cache: Option<PathBuf>,
}

impl EngineOptions {
    /// As much as all buffers of an isolate may hold.
    pub(super) fn most_bytes_of_a_file(&self) -> u64 {
        u64::from(self.heap_mb) << 20
    }
}

/// What Web and Node APIs may touch, by kind: `None` nothing, an empty list everything, else what
/// is listed in Deno's notation (paths, hosts, names).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the kinds are Deno's own words")]
pub struct Access {
    pub env: Option<Vec<String>>,
    pub ffi: Option<Vec<String>>,
    pub import: Option<Vec<String>>,
    pub net: Option<Vec<String>>,
    pub read: Option<Vec<String>>,
    pub run: Option<Vec<String>>,
    pub sys: Option<Vec<String>>,
    pub write: Option<Vec<String>>,
}

/// Starts programs for tools. Implemented by whoever may use `process`.
pub trait Programs: Send + Sync {
    /// Runs what `request` (the JSON of `js-runtime/11_exec.ts`) says until it ends or `cancel`
    /// fires, and answers with the JSON of an `ExecAnswer`.
    fn exec(
        &self,
        request: String,
        cancel: CancellationToken,
    ) -> Pin<Box<dyn Future<Output = String> + Send>>;

    /// The thread `thread_id` is about to start a program by itself (`node:child_process`).
    fn starts_by(&self, thread_id: i32);

    /// Kills every process that the thread `thread_id` started and that still runs, but for those that
    /// were released.
    fn kill_started_by(&self, thread_id: i32);

    /// A tool has let go of a program that a thread of an isolate started: it outlives the host, if it
    /// is detached and the host allows that.
    fn release(&self, pid: i32);

    /// The program that runs scripts for Node, which is what tools take `process.execPath` for.
    fn script_runner(&self) -> Option<PathBuf>;
}

/// Takes what tools write with `pi.logger` and `console`, and warnings about them.
pub trait ToolLog: Send + Sync {
    /// One line of code of `domain`. `context` is the JSON text of an object, or empty.
    fn log(&self, domain: TrustDomain, level: LogLevel, tool: &str, message: &str, context: &str);
}
