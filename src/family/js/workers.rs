//! Worker processes of JavaScript modules: their program, environment and sandbox.

use std::fs::DirEntry;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::family::rights::{Sandboxes, program_rights, with_proxy};
use haft_config::{Config, exceeded_limit};
use haft_discover::Candidate;
use haft_engine::{IsolateKey, WorkerProcess, Workers};
use haft_process::sandbox::{self, ExceededLimit, Sandbox, TreeLimits};
use haft_process::{
    Environment, Exit, Spawn, Worker, Zygote, find_installed, inherited, private_files,
};
use haft_tool::{Isolation, Level, TrustDomain};

/// The program of worker processes: a `haft` of this version.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Argument with which the program starts as a worker. The version of haft follows.
pub(crate) const WORKER: &str = "--worker";

/// The version of haft. Both sides of a connection must have the same.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Argument with which a worker becomes a zygote. The limit of the heap in MiB follows.
pub(crate) const ZYGOTE: &str = "--zygote";

/// Exit code of a worker that was started by another version.
pub(crate) const OTHER_VERSION: u8 = 78;

/// Sets the program of worker processes. Only the first call has an effect.
pub(crate) fn use_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// Limits of a worker process with the programs below it.
#[derive(Clone, Copy)]
struct WorkerLimits {
    tree: TreeLimits,
    processors: usize,
    open_files: u64,
}

/// Returns the starter of worker processes; `None` if no program is set
/// and none is installed.
pub(super) fn workers(
    config: &Config,
    sandboxes: &Arc<Sandboxes>,
    cache: Option<PathBuf>,
) -> Option<Arc<dyn Workers>> {
    let limits = [Level::User, Level::Project].map(|level| {
        let limits = config.limits_of(level);
        WorkerLimits {
            tree: limits.of_trees(),
            processors: limits.worker_cpus as usize,
            open_files: limits.program_files.into(),
        }
    });
    let program = PROGRAM.get().cloned().or_else(|| find_installed("haft"))?;
    let sandboxes = sandboxes.clone();
    Some(Arc::new(WorkerStarter {
        program,
        sandboxes,
        cache,
        limits,
        prepared: Mutex::default(),
    }))
}

/// Returns the folder whose code a sandboxed module can read: that of its project, or the nearest
/// one with a manifest above the file, or that of the file.
pub(super) fn code_folder(candidate: &Candidate, config: &Config) -> PathBuf {
    let file = &candidate.resolved;
    if candidate.trust_domain() == TrustDomain::Project && file.starts_with(&config.cwd) {
        return config.cwd.clone();
    }
    let own = file.parent().unwrap_or(file);
    let below_home = own
        .ancestors()
        .take_while(|folder| *folder != config.home && folder.parent().is_some());
    let package = below_home
        .into_iter()
        .find(|folder| folder.join("package.json").is_file());
    package.unwrap_or(own).to_owned()
}

struct WorkerStarter {
    program: PathBuf,
    sandboxes: Arc<Sandboxes>,
    /// Folder of the caches.
    cache: Option<PathBuf>,
    /// Limits of a worker with its programs: for tools of the user and plugins, and for those of
    /// the project.
    limits: [WorkerLimits; 2],
    prepared: Mutex<Prepared>,
}

/// The zygote of a host.
#[derive(Default)]
enum Prepared {
    #[default]
    Nothing,
    Zygote {
        zygote: Arc<Zygote>,
        /// Limit of the heap of its workers.
        heap_mb: u32,
        since: Instant,
    },
    Closed,
}

/// Time after which a zygote that does not answer is replaced.
const RESTART_INTERVAL: Duration = Duration::from_secs(10);

struct RunningWorker {
    process: Worker,
    /// Kept for its private folder.
    _sandbox: Option<Sandbox>,
    /// The folder that `$TMPDIR` stands for in the permissions of the worker.
    tmp: Option<PathBuf>,
    /// Limits of the process with its programs.
    limits: TreeLimits,
}

/// Variables that haft's own code in a worker needs. Modules see those that they may read.
const OWN_VARIABLES: [&str; 3] = ["PATH", "HOME", "TZ"];

impl Workers for WorkerStarter {
    fn prepare(&self, heap_mb: u32) {
        let mut prepared = self.prepared();
        let is_wanted = match &*prepared {
            Prepared::Nothing => true,
            Prepared::Zygote { zygote, since, .. } => {
                zygote.is_broken() && since.elapsed() > RESTART_INTERVAL
            }
            Prepared::Closed => false,
        };
        if !is_wanted || inherited("HAFT_ZYGOTE").is_some_and(|value| value == "0") {
            return;
        }
        let heap = heap_mb.to_string();
        let spawn = Spawn {
            // Its own variables stay readable in the memory of each worker.
            env: Environment::allow(OWN_VARIABLES),
            ..Spawn::new(&self.program, [WORKER, VERSION, ZYGOTE, &heap])
        };
        match Zygote::start(&spawn) {
            Ok(zygote) => {
                *prepared = Prepared::Zygote {
                    zygote: Arc::new(zygote),
                    heap_mb,
                    since: Instant::now(),
                };
            }
            Err(error) => tracing::debug!(%error, "no zygote"),
        }
    }

    fn close(&self) {
        let prepared = std::mem::replace(&mut *self.prepared(), Prepared::Closed);
        if let Prepared::Zygote { zygote, .. } = prepared {
            zygote.end();
        }
    }

    fn start(
        &self,
        key: &IsolateKey,
        heap_mb: u32,
        streams: [OwnedFd; 3],
    ) -> Result<Arc<dyn WorkerProcess>, String> {
        let mut spawn = Spawn::new(&self.program, [WORKER, VERSION]);
        let mut tmp = None;
        if key.isolation == Isolation::Sandbox {
            let program = std::fs::canonicalize(&self.program);
            let program = program.unwrap_or_else(|_| self.program.clone());
            let code = self.readable_code(key);
            let restricted = self.sandboxes.of_worker(
                &key.permissions,
                &program,
                &code,
                self.compiled_code(key),
            )?;
            let own = OWN_VARIABLES.iter();
            let own = own.filter_map(|name| Some((*name, inherited(name)?)));
            let env = own.fold(Environment::inherit(), |env, (name, value)| {
                env.with(name, value)
            });
            tmp = restricted.tmp;
            spawn = Spawn {
                program: program.into(),
                rights: program_rights(&key.permissions).of_wrapper(),
                env: with_proxy(env, restricted.proxy.as_deref()),
                sandbox: restricted.sandbox,
                ..spawn
            };
        }
        let zygote = self.zygote_for(heap_mb);
        let started = match zygote {
            Some(zygote) => zygote.start_worker(&spawn, streams),
            None => Worker::start(&spawn, streams),
        };
        let process = started.map_err(|error| format!("cannot start a worker process: {error}"))?;
        let limits = self.limits_of(key.domain);
        if limits.processors < u32::MAX as usize {
            // It has no second thread and no program before it gets its first message.
            process
                .limit_processors(limits.processors)
                .map_err(|error| format!("`limits.worker_cpus` cannot be enforced: {error}"))?;
        }
        process.limit_open_files(limits.open_files);
        let sandbox = spawn.sandbox;
        Ok(Arc::new(RunningWorker {
            process,
            _sandbox: sandbox,
            tmp,
            limits: limits.tree,
        }))
    }

    fn readable_code(&self, key: &IsolateKey) -> Vec<PathBuf> {
        key.code.as_deref().map(readable_code).unwrap_or_default()
    }
}

impl WorkerStarter {
    fn limits_of(&self, domain: TrustDomain) -> WorkerLimits {
        let [of_user, of_project] = self.limits;
        match domain {
            TrustDomain::User | TrustDomain::Plugins => of_user,
            TrustDomain::Project => of_project,
        }
    }

    fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the zygote for workers with this limit of their heap.
    fn zygote_for(&self, wanted_mb: u32) -> Option<Arc<Zygote>> {
        match &*self.prepared() {
            Prepared::Zygote {
                zygote, heap_mb, ..
            } if *heap_mb == wanted_mb && !zygote.is_broken() => Some(zygote.clone()),
            _ => None,
        }
    }

    /// Returns the folder of compiled code that only sandboxed workers with this key use. Creates
    /// it, because a sandbox names existing folders only.
    fn compiled_code(&self, key: &IsolateKey) -> Option<PathBuf> {
        let folder = key.cache_in(self.cache.as_deref()?);
        let made = private_files::make_folder(&folder);
        let made = made.inspect_err(|error| {
            tracing::debug!(folder = %folder.display(), %error, "nothing compiled is kept");
        });
        made.ok()?;
        if let Some(all) = folder.parent() {
            remove_oldest(all);
        }
        Some(folder)
    }
}

/// Limit of the folders with compiled code of sandboxed workers. Each has the limits of the engine's
/// cache.
const MAX_FOLDERS: usize = 32;

/// Removes the folders that were written to least recently.
fn remove_oldest(all: &Path) {
    let entries = std::fs::read_dir(all).into_iter().flatten().flatten();
    let folder = |entry: DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let mut folders: Vec<_> = entries.filter_map(folder).collect();
    folders.sort_by(|one, other| other.cmp(one));
    for (_, folder) in folders.iter().skip(MAX_FOLDERS) {
        // Another process may have removed it already.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Returns what the code in that folder reads when it is imported: the folder, and the packages and
/// manifests above it.
fn readable_code(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    for above in folder.ancestors().skip(1) {
        let found = ["node_modules", "package.json", "tsconfig.json"]
            .into_iter()
            .map(|name| above.join(name));
        paths.extend(found.filter(|path| path.exists()));
    }
    paths
}

/// Returns the name of a signal, such as `SIGKILL`.
fn name_of(signal: i32) -> String {
    match nix::sys::signal::Signal::try_from(signal) {
        Ok(known) => known.to_string(),
        Err(_) => format!("signal {signal}"),
    }
}

impl WorkerProcess for RunningWorker {
    fn kill(&self) {
        self.process.kill();
    }

    fn wait(&self) -> String {
        match self.process.wait() {
            Some(Exit::Signal(signal)) => format!("was ended by {}", name_of(signal)),
            Some(Exit::Code(code)) if code == i32::from(OTHER_VERSION) => {
                format!("is a haft of another version than {VERSION}")
            }
            Some(Exit::Code(code)) => format!("exited with code {code}"),
            None => "has ended".to_owned(),
        }
    }

    fn tmp(&self) -> Option<PathBuf> {
        self.tmp.clone()
    }

    fn limit_exceeded(&self, own_memory: u64) -> BoxFuture<'static, String> {
        let (pid, limits) = (self.process.pid().as_raw_pid(), self.limits);
        // The worker itself is a process, too.
        let with_worker = TreeLimits {
            processes: limits.processes.map(|count| count.saturating_add(1)),
            ..limits
        };
        let tmp = self.tmp.clone();
        Box::pin(async move {
            tokio::select! {
                _ = sandbox::process_memory_exceeded(pid, own_memory) => format!(
                    "it ran out of memory (the limit of its worker process is {} MB)",
                    own_memory >> 20
                ),
                exceeded = sandbox::tree_exceeded(pid, with_worker, tmp.clone()) => {
                    if let (ExceededLimit::TemporaryFiles(_), Some(tmp)) = (exceeded, tmp) {
                        sandbox::empty_folder(tmp).await;
                    }
                    exceeded_limit(match exceeded {
                        ExceededLimit::Processes(count) => ExceededLimit::Processes(count - 1),
                        other => other,
                    })
                }
            }
        })
    }
}
