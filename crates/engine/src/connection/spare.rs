//! Workers that are started before they are needed.
//!
//! A worker needs about 30 ms until its isolate has booted. A host that serves callers for a long
//! time keeps one *spare*, which has booted and has no callers yet. It was started for one
//! [`IsolateKey`], inside the sandbox of that key, and serves that key only. So it is restricted
//! exactly as a worker that is started on demand, and no code of a tool ran in it.
//!
//! The spare is for the first module that was listed from the cache and has no worker yet, else for
//! the key that was last needed: its modules need a new worker after a change of their files, and
//! after a crash.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::runtime::ConnectionRuntime;
use crate::services::WorkerProcess;
use crate::worker::protocol::{BootSettings, WorkerTask};
use crate::worker::{WorkerReport, socket};
use crate::{EngineOptions, IsolateKey, lock};

/// Delay of a spare after another worker was started, so that the two do not compete for the
/// processor.
const DELAY: Duration = Duration::from_millis(500);

/// Limit of the keys that are remembered as expected.
const MAX_EXPECTED: usize = 16;

/// A worker process whose isolate boots or has booted. It has no callers.
pub(crate) struct BootingWorker {
    pub(crate) main: OwnedFd,
    pub(crate) control: OwnedFd,
    pub(super) report: WorkerReport,
    pub(crate) process: Arc<dyn WorkerProcess>,
    /// The packets of the first message that its socket had no room for.
    pub(super) waiting: VecDeque<Vec<u8>>,
    /// The paths of code that its sandbox lets it read.
    code: Vec<PathBuf>,
}

impl BootingWorker {
    /// Starts a worker for code with this key, and sends it its task. Does not wait until its
    /// isolate has booted.
    pub(crate) async fn start(
        options: &EngineOptions,
        key: &IsolateKey,
        task: impl FnOnce(&dyn WorkerProcess) -> WorkerTask,
    ) -> Result<BootingWorker, String> {
        let workers = options.workers.clone().ok_or(
            "modules run in worker processes, which this program does not serve: the first line of \
             its `main` must be `haft::run_worker_process();`",
        )?;
        let cannot = |error: io::Error| format!("cannot connect a worker process: {error}");
        let (main, their_main) = socket::pair().map_err(cannot)?;
        let (control, their_control) = socket::pair().map_err(cannot)?;
        let (report, their_report) = WorkerReport::new().map_err(cannot)?;
        let (of_start, heap_mb) = (key.clone(), options.heap_mb);
        let started = tokio::task::spawn_blocking(move || {
            let code = workers.readable_code(&of_start);
            let process = workers.start(
                &of_start,
                heap_mb,
                [their_main, their_control, their_report],
            )?;
            Ok((process, code))
        });
        let (process, code) = started
            .await
            .unwrap_or_else(|_| Err("the runtime ends".to_owned()))?;
        let mut waiting = VecDeque::from(socket::packets_of(&task(&*process)));
        socket::send_packets(&main, &mut waiting);
        Ok(BootingWorker {
            main,
            control,
            report,
            process,
            waiting,
            code,
        })
    }

    /// Starts a worker for modules with this key. It compiles `files` while its isolate boots.
    pub(super) async fn start_isolate(
        options: &EngineOptions,
        key: &IsolateKey,
        files: Vec<PathBuf>,
    ) -> Result<BootingWorker, String> {
        let task = |process: &dyn WorkerProcess| {
            let settings = BootSettings::new(options, key, process.tmp().as_deref(), files);
            WorkerTask::Modules(Box::new(settings))
        };
        BootingWorker::start(options, key, task).await
    }

    /// Returns true if the process has ended, or a worker that is started now could read other
    /// code.
    fn is_stale(&self, options: &EngineOptions, key: &IsolateKey) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let has_ended = match recv(&self.main, &mut [0; 1][..], flags) {
            Ok((length, _)) => length == 0,
            Err(Errno::AGAIN | Errno::INTR) => false,
            Err(_) => true,
        };
        let workers = options.workers.as_ref();
        let is_outdated = has_ended || !self.process.is_current();
        is_outdated || workers.is_none_or(|workers| workers.readable_code(key) != self.code)
    }

    /// Ends the process, and waits for its end. Blocks.
    fn end(&self) {
        self.process.kill();
        self.process.wait();
    }
}

/// The spare worker of an engine.
#[derive(Default)]
pub(crate) struct Spares {
    plan: Mutex<Plan>,
    spare: tokio::sync::Mutex<Option<(IsolateKey, BootingWorker)>>,
    /// True while a task is about to start a spare.
    is_scheduled: AtomicBool,
}

/// Keys for which a spare would be useful.
#[derive(Default)]
struct Plan {
    /// True if the host wants a spare.
    is_kept: bool,
    /// Keys of modules that were listed from the cache. No worker was started for them yet.
    expected: VecDeque<IsolateKey>,
    last: Option<IsolateKey>,
}

impl Plan {
    fn wanted(&self) -> Option<&IsolateKey> {
        let wanted = self.expected.front().or(self.last.as_ref());
        wanted.filter(|_| self.is_kept)
    }
}

impl Spares {
    /// Keeps a spare from now on.
    pub(crate) fn keep(&self) {
        lock(&self.plan).is_kept = true;
    }

    /// Returns true if a spare is kept.
    pub(crate) fn is_kept(&self) -> bool {
        lock(&self.plan).is_kept
    }

    /// Notes that a call may soon need a worker for code with this key.
    pub(crate) fn expect(
        self: &Arc<Self>,
        options: &EngineOptions,
        key: &IsolateKey,
        runtime: impl FnOnce() -> io::Result<ConnectionRuntime>,
    ) {
        {
            let mut plan = lock(&self.plan);
            let is_known = plan.expected.contains(key) || plan.last.as_ref() == Some(key);
            if !plan.is_kept || is_known || plan.expected.len() >= MAX_EXPECTED {
                return;
            }
            plan.expected.push_back(key.clone());
        }
        // Without the thread, the call itself reports that.
        if let Ok(runtime) = runtime() {
            self.schedule(options, Duration::ZERO, &runtime);
        }
    }

    /// Returns the spare, if it is one for code with this key, and schedules the start of the next
    /// one.
    pub(crate) async fn take(
        self: &Arc<Self>,
        options: &EngineOptions,
        key: &IsolateKey,
        runtime: &ConnectionRuntime,
    ) -> Option<BootingWorker> {
        if !lock(&self.plan).is_kept {
            return None;
        }
        {
            let mut plan = lock(&self.plan);
            plan.expected.retain(|expected| expected != key);
            plan.last = Some(key.clone());
        }
        // A start that is under way takes less time than another one.
        let taken = self.spare.lock().await.take_if(|(of, _)| of == key);
        self.schedule(options, DELAY, runtime);
        let (_, worker) = taken?;
        if worker.is_stale(options, key) {
            tokio::task::spawn_blocking(move || worker.end());
            return None;
        }
        tracing::debug!("the spare worker is used");
        Some(worker)
    }

    /// Starts a spare after a delay, unless there is a useful one then.
    fn schedule(
        self: &Arc<Self>,
        options: &EngineOptions,
        delay: Duration,
        runtime: &ConnectionRuntime,
    ) {
        if let Some(workers) = &options.workers {
            workers.prepare(options.heap_mb);
        }
        if self.is_scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        // The task must not keep the spare alive after the end of the engine.
        let (spares, options) = (Arc::downgrade(self), options.clone());
        runtime.handle.spawn(async move {
            tokio::time::sleep(delay).await;
            Spares::fill(&spares, &options).await;
        });
    }

    async fn fill(spares: &Weak<Spares>, options: &EngineOptions) {
        let Some(spares) = spares.upgrade() else {
            return;
        };
        spares.is_scheduled.store(false, Ordering::Release);
        let mut spare = spares.spare.lock().await;
        let wanted = {
            let plan = lock(&spares.plan);
            let is_useful = |key: &IsolateKey| {
                plan.expected.contains(key)
                    || plan.expected.is_empty() && plan.wanted() == Some(key)
            };
            let wanted = plan.wanted().cloned();
            wanted.filter(|_| !spare.as_ref().is_some_and(|(key, _)| is_useful(key)))
        };
        let Some(key) = wanted else { return };
        if let Some((_, useless)) = spare.take() {
            tokio::task::spawn_blocking(move || useless.end());
        }
        let options = options.for_domain(key.domain);
        match BootingWorker::start_isolate(&options, &key, Vec::new()).await {
            Ok(worker) => *spare = Some((key, worker)),
            // The same start on demand reports the error to its caller.
            Err(error) => tracing::debug!(%error, "no spare worker"),
        }
    }

    /// Ends the spare and what makes starts faster, and keeps none from now on.
    pub(crate) async fn close(&self, options: &EngineOptions) {
        lock(&self.plan).is_kept = false;
        let spare = self.spare.lock().await.take();
        let workers = options.workers.clone();
        let end = move || {
            if let Some((_, worker)) = spare {
                worker.end();
            }
            if let Some(workers) = workers {
                workers.close();
            }
        };
        let _ = tokio::task::spawn_blocking(end).await;
    }
}
