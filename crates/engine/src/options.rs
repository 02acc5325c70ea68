//! Options of an engine: limits, permissions, and services of the host.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::permits::{GrantedNow, PermitStore};
use super::services::{Programs, ToolLog, Workers};
use super::verify::Verifier;
use haft_tool::{CurrentSession, Debugging, DefaultUser, Replay, Tier, ToolRights, TrustDomain};

/// Options of an engine.
#[derive(Clone)]
pub struct EngineOptions {
    /// `pi.cwd`, absolute.
    pub cwd: PathBuf,
    /// V8's heap limit of one isolate, in MB.
    pub heap_mb: u32,
    /// `ctx.sessionId`.
    pub session_id: String,
    /// Grace period of a call after its AbortSignal fired.
    pub grace: Duration,
    /// Timeout of importing a module and running its factory.
    pub load_timeout: Duration,
    /// Rights of the engine's own modules.
    pub rights: ToolRights,
    /// Options that differ for the modules of the project.
    pub project: ProjectOptions,
    /// The tier of calls that run without approval. Code that runs before any approval (the top
    /// level of modules, their factories, `approval`) has the rights of that tier.
    pub unasked: Tier,
    /// Starts and stops programs.
    pub programs: Arc<dyn Programs>,
    /// Starts worker processes; `None` if this program has none.
    pub workers: Option<Arc<dyn Workers>>,
    /// The runtime of all callers, if the program has one that outlives the engine; `None` serves
    /// worker processes on a thread of the engine.
    pub runtime: Option<Handle>,
    /// A program that a tool detached and released outlives the host.
    pub keeps_detached: bool,
    /// Receives the log lines of tools.
    pub log: Arc<dyn ToolLog>,
    /// Stores what the user grants tools for good; `None` offers no such answer.
    pub permits: Option<Arc<dyn PermitStore>>,
    /// Permissions that the user has granted tools for good since these were loaded.
    pub granted: Arc<GrantedNow>,
    /// Replaces the network behind `fetch`, in tests of tools.
    pub tape: Option<Arc<dyn Replay>>,
    /// Changes to the process's environment for tools; `None` removes a variable.
    pub env: BTreeMap<String, Option<String>>,
    /// Set if previewed actions can be resolved later.
    pub supports_pending_actions: bool,
    /// The user to ask outside of calls.
    pub default_user: Arc<DefaultUser>,
    /// The conversation that calls belong to.
    pub session: Arc<CurrentSession>,
    /// `ctx.autoApprove` outside of calls: they run without approval.
    pub auto_approve: bool,
    /// Verifier of the files of the project's modules; `None` loads them unchecked.
    pub verifier: Option<Arc<Verifier>>,
    /// Folder of the caches; `None` disables them.
    pub cache: Option<PathBuf>,
    /// Debugging of the isolates.
    pub debugging: Debugging,
}

impl EngineOptions {
    /// Returns the options of isolates for that domain.
    pub(super) fn for_domain(&self, domain: TrustDomain) -> EngineOptions {
        let mut options = self.clone();
        if domain == TrustDomain::Project {
            options.heap_mb = self.project.heap_mb;
            options.grace = self.project.grace;
            options.load_timeout = self.project.load_timeout;
        }
        options
    }

    /// Returns the timeout of importing a module of that domain.
    pub(super) fn load_timeout(&self, domain: TrustDomain) -> Duration {
        match domain {
            TrustDomain::Project => self.project.load_timeout,
            TrustDomain::User | TrustDomain::Plugins => self.load_timeout,
        }
    }

    /// Returns the grace period of a call of that domain after its AbortSignal fired.
    pub(super) fn grace(&self, domain: TrustDomain) -> Duration {
        match domain {
            TrustDomain::Project => self.project.grace,
            TrustDomain::User | TrustDomain::Plugins => self.grace,
        }
    }

    /// Returns the verifier of the files of `domain`; `None` if they are loaded unchecked.
    pub(super) fn verifier_of(&self, domain: TrustDomain) -> Option<&Arc<Verifier>> {
        let verifier = self.verifier.as_ref();
        verifier.filter(|_| domain == TrustDomain::Project)
    }

    /// Returns the limit of a file's size, which is that of all buffers of an isolate together.
    pub(super) fn most_bytes_of_a_file(&self) -> u64 {
        u64::from(self.heap_mb) << 20
    }
}

/// Options that differ for the modules of the project: its configuration narrows its own rights.
#[derive(Clone, Debug)]
pub struct ProjectOptions {
    /// Like [`EngineOptions::heap_mb`].
    pub heap_mb: u32,
    /// Like `EngineOptions::grace`.
    pub grace: Duration,
    /// Like `EngineOptions::load_timeout`.
    pub load_timeout: Duration,
}
