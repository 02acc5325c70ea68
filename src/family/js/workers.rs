//! Worker processes of JavaScript modules: their program, environment and sandbox.

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use super::worker_process::{OTHER_VERSION, VERSION, WORKER, ZYGOTE, own_program};
use crate::family::rights::{Sandboxes, program_rights, with_proxy};
use haft_config::{Config, exceeded_limit, grants};
use haft_discover::Candidate;
use haft_engine::{CodePaths, IsolateKey, WorkerProcess, Workers};
use haft_process::sandbox::{self, ExceededLimit, Sandbox, TreeLimits};
use haft_process::{
    ChosenProgram, Environment, Exit, GrantedPath, LinkBounds, Spawn, Worker, Zygote, inherited,
    state_dir,
};
use haft_tool::{Isolation, Level, TrustDomain, VerifiedFiles};

#[expect(clippy::disallowed_methods, reason = "it is haft itself")]
fn worker_program(path: &Path) -> ChosenProgram {
    ChosenProgram::not_of_project(path)
}

/// Limits of a worker process with the programs below it.
#[derive(Clone, Copy)]
struct WorkerLimits {
    tree: TreeLimits,
    processors: usize,
    open_files: u64,
}

/// Returns the starter of worker processes, which run `program`, or else the running one; `None` if
/// that does not serve them.
pub(super) fn workers(
    config: &Config,
    program: Option<PathBuf>,
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
    let program = program.or_else(own_program)?;
    let sandboxes = sandboxes.clone();
    Some(Arc::new(WorkerStarter {
        program,
        sandboxes,
        cwd: config.cwd.clone(),
        cache,
        limits,
        prepared: Mutex::default(),
    }))
}

/// Reader of the code that sandboxed modules can read. Modules with the same code share one value,
/// which every call compares.
pub(super) struct CodeReader<'a> {
    config: &'a Config,
    known: Vec<(Option<Arc<VerifiedFiles>>, Arc<CodePaths>)>,
}

impl CodeReader<'_> {
    pub(super) fn new(config: &Config) -> CodeReader<'_> {
        CodeReader {
            config,
            known: Vec::new(),
        }
    }

    pub(super) fn of(&mut self, candidate: &Candidate) -> Arc<CodePaths> {
        let folder = code_folder(candidate, self.config);
        let verified = &candidate.verified;
        let is_known = |(files, code): &&(Option<Arc<VerifiedFiles>>, Arc<CodePaths>)| {
            let is_same = match (files, verified) {
                (Some(files), Some(verified)) => Arc::ptr_eq(files, verified),
                (files, verified) => files.is_none() && verified.is_none(),
            };
            is_same && code.folder == folder
        };
        if let Some((_, code)) = self.known.iter().find(is_known) {
            return code.clone();
        }
        let files = verified.iter().flat_map(|verified| verified.modules.keys());
        let outside = files.filter(|file| !file.starts_with(&folder));
        let mut trusted: Vec<PathBuf> = outside.filter_map(|file| code_outside(file)).collect();
        trusted.sort();
        trusted.dedup();
        let code = Arc::new(CodePaths { folder, trusted });
        self.known.push((verified.clone(), code.clone()));
        code
    }
}

/// Returns the folder of the project, or the nearest one with a manifest above the file, or that of
/// the file.
fn code_folder(candidate: &Candidate, config: &Config) -> PathBuf {
    let file = &candidate.resolved;
    let project = grants::real(&config.cwd);
    if candidate.trust_domain() == TrustDomain::Project && file.starts_with(&project) {
        return project;
    }
    let home = grants::real(&config.home);
    let own = file.parent().unwrap_or(file);
    let below_home = own
        .ancestors()
        .take_while(|folder| *folder != home && folder.parent().is_some());
    let package = below_home
        .into_iter()
        .find(|folder| folder.join("package.json").is_file());
    package.unwrap_or(own).to_owned()
}

/// Names of the endings of code.
const CODE: [&str; 9] = ["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx", "wasm"];

/// Returns the folder of the installed package that contains a trusted file, because packages read
/// their own data. Outside of packages it is the file, if it is code or a manifest by its own name:
/// a manifest may be a link to any file, which haft has read to resolve imports.
fn code_outside(file: &Path) -> Option<PathBuf> {
    let parts: Vec<&OsStr> = file.iter().collect();
    let Some(installed) = parts.iter().rposition(|part| *part == "node_modules") else {
        let is_code = file
            .extension()
            .is_some_and(|ending| CODE.iter().any(|it| ending == *it));
        let is_manifest = file.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name == "package.json" || name.starts_with("tsconfig") && name.ends_with(".json")
        });
        return (is_code || is_manifest).then(|| file.to_owned());
    };
    let name = installed + 1;
    let is_scope = |part: &&OsStr| part.as_encoded_bytes().starts_with(b"@");
    let last = match parts.get(name) {
        Some(part) if is_scope(part) => name + 1,
        _ => name,
    };
    Some(parts.iter().take(last + 1).collect())
}

struct WorkerStarter {
    program: PathBuf,
    sandboxes: Arc<Sandboxes>,
    /// The working directory of the workers.
    cwd: PathBuf,
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
    work_folder: WorkFolder,
    /// Time of the last check of what it works with, and the result.
    checked: Mutex<(Instant, bool)>,
    /// Kept for its private folder.
    _sandbox: Option<Sandbox>,
    /// The folder that `$TMPDIR` stands for in the permissions of the worker.
    tmp: Option<PathBuf>,
    /// Limits of the process with its programs.
    limits: TreeLimits,
}

/// Interval of the checks of what a worker works with: each looks at dozens of files, and a call takes
/// some microseconds.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The working directory of a worker, as it was when the worker was started.
struct WorkFolder {
    path: PathBuf,
    id: Option<(u64, u64)>,
}

impl WorkFolder {
    fn at(path: &Path) -> WorkFolder {
        WorkFolder {
            path: path.to_owned(),
            id: id_of(path),
        }
    }

    /// Returns false if there is another folder now.
    fn is_current(&self) -> bool {
        let found = id_of(&self.path);
        found.is_none() || found == self.id
    }
}

/// Returns the device and the inode of what a path leads to.
fn id_of(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
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
            ..Spawn::new(
                worker_program(&self.program),
                [WORKER, VERSION, ZYGOTE, &heap],
            )
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
        let mut spawn = Spawn::new(worker_program(&self.program), [WORKER, VERSION]);
        let mut tmp = None;
        if key.isolation == Isolation::Sandbox {
            let program = std::fs::canonicalize(&self.program);
            let program = program.unwrap_or_else(|_| self.program.clone());
            let code = self.granted_code(key);
            let cache = self.compiled_code(key);
            let restricted =
                (self.sandboxes).of_worker(&key.permissions, &program, &code, cache.as_deref())?;
            let own = OWN_VARIABLES.iter();
            let own = own.filter_map(|name| Some((*name, inherited(name)?)));
            let env = own.fold(Environment::inherit(), |env, (name, value)| {
                env.with(name, value)
            });
            tmp = restricted.tmp;
            spawn = Spawn {
                program: worker_program(&program).into(),
                rights: program_rights(&key.permissions).of_wrapper(),
                env: with_proxy(env, restricted.proxy.as_deref()),
                sandbox: restricted.sandbox,
                ..spawn
            };
        }
        let work_folder = WorkFolder::at(&self.cwd);
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
            work_folder,
            checked: Mutex::new((Instant::now(), true)),
            _sandbox: sandbox,
            tmp,
            limits: limits.tree,
        }))
    }

    fn readable_code(&self, key: &IsolateKey) -> Vec<PathBuf> {
        let granted = self.granted_code(key).into_iter();
        granted.map(|path| path.as_path().to_owned()).collect()
    }
}

impl WorkerStarter {
    /// Returns what code with this key reads when it is imported: its folder, the packages and
    /// manifests above it, and what was trusted besides.
    fn granted_code(&self, key: &IsolateKey) -> Vec<GrantedPath> {
        let Some(code) = key.code.as_deref() else {
            return Vec::new();
        };
        let mut paths: Vec<GrantedPath> =
            self.sandboxes.resolve(&code.folder).into_iter().collect();
        for above in code.folder.ancestors().skip(1) {
            // The author of the code may have put a link there. A package that a link leads to is
            // among what was trusted.
            let bounds = LinkBounds::new([above.to_owned()]);
            let found = ["node_modules", "package.json", "tsconfig.json"]
                .into_iter()
                .map(|name| above.join(name))
                .filter(|path| path.exists());
            paths.extend(found.filter_map(|path| bounds.resolve(&path).ok()));
        }
        let trusted = code.trusted.iter();
        paths.extend(trusted.filter_map(|path| GrantedPath::without_links(path).ok()));
        paths
    }

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
        let made = state_dir::make_folder(&folder);
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

    fn is_current(&self) -> bool {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, was_current) = *checked;
        if was_current && since.elapsed() > CHECK_INTERVAL {
            let is_current = self.work_folder.is_current() && self.process.is_current();
            *checked = (Instant::now(), is_current);
        }
        checked.1
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
