//! What an engine is given: limits, rights, and whoever does for it what it may not do itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::verify::Verifier;
use crate::tool::{
    CurrentSession, DefaultUser, LogLevel, PermissionProfile, Tape, Tier, TrustDomain,
};

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
    /// What modules may touch.
    pub permissions: Arc<PermissionProfile>,
    /// What holds for the modules of the project instead.
    pub project: ProjectOptions,
    /// The tier of calls that nobody is asked about. What runs before anybody was asked (the top
    /// level of modules, their factories, `approval`) has the rights of that tier.
    pub unasked: Tier,
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
    /// What checks the files of the project's modules; `None`: they are loaded as they are.
    pub verifier: Option<Arc<Verifier>>,
    /// The folder for what can be made again; `None`: remember nothing.
    pub cache: Option<PathBuf>,
}

impl EngineOptions {
    /// The options of isolates for that domain.
    pub(super) fn for_domain(&self, domain: TrustDomain) -> EngineOptions {
        let mut options = self.clone();
        if domain == TrustDomain::Project {
            options.permissions = self.project.permissions.clone();
            options.heap_mb = self.project.heap_mb;
            options.grace = self.project.grace;
            options.load_timeout = self.project.load_timeout;
        }
        options
    }

    /// How long importing a module of that domain may take.
    pub(super) fn load_timeout(&self, domain: TrustDomain) -> Duration {
        match domain {
            TrustDomain::Project => self.project.load_timeout,
            TrustDomain::User | TrustDomain::Plugins => self.load_timeout,
        }
    }

    /// How long a call of that domain may go on after its AbortSignal fired.
    pub(super) fn grace(&self, domain: TrustDomain) -> Duration {
        match domain {
            TrustDomain::Project => self.project.grace,
            TrustDomain::User | TrustDomain::Plugins => self.grace,
        }
    }

    /// What checks the files of modules of `domain`; `None`: they are loaded as they are.
    pub(super) fn verifier_of(&self, domain: TrustDomain) -> Option<&Arc<Verifier>> {
        let verifier = self.verifier.as_ref();
        verifier.filter(|_| domain == TrustDomain::Project)
    }

    /// As much as all buffers of an isolate may hold.
    pub(super) fn most_bytes_of_a_file(&self) -> u64 {
        u64::from(self.heap_mb) << 20
    }
}

/// What is different for the modules of the project: its configuration narrows its own rights.
#[derive(Clone, Debug)]
pub struct ProjectOptions {
    /// What they may touch.
    pub permissions: Arc<PermissionProfile>,
    /// Like [`EngineOptions::heap_mb`].
    pub heap_mb: u32,
    /// Like [`EngineOptions::grace`].
    pub grace: Duration,
    /// Like [`EngineOptions::load_timeout`].
    pub load_timeout: Duration,
}

/// Starts programs for tools. Implemented by whoever may use `process`.
pub trait Programs: Send + Sync {
    /// Runs what `request` (the JSON of `js-runtime/11_exec.ts`) says until it ends or `cancel`
    /// fires, and answers with the JSON of an `ExecAnswer`. `permissions` are those of the caller.
    fn exec(
        &self,
        request: String,
        permissions: &PermissionProfile,
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
