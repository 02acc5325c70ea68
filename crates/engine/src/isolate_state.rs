//! State of one isolate, which its handle, its thread and its watchdog share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use deno_core::v8;
use tokio::sync::watch;

use super::IsolateKey;
use super::inspector::{Sessions, Target};
use super::load_trace::LoadTrace;
use super::lock;
use super::messages::{HostProcess, Termination};
use super::options::EngineOptions;
use super::render_guard::RenderGuard;
use super::requests::Requests;
use super::services::Programs;
use haft_tool::{Isolation, VerifiedFiles};

/// State that the handle, the thread and the watchdog (`termination`) share.
pub(super) struct IsolateState {
    /// Reason for which the isolate must end now. Set before V8 is terminated, so that the thread
    /// does not take the termination for an error of a tool.
    pub(super) termination: OnceLock<Termination>,
    /// Set if the isolate takes no new work and ends with its last call.
    pub(super) retired: AtomicBool,
    /// The pending actions of its tools; `None` in a worker process.
    pub(super) pending: Option<Arc<dyn ActionList>>,
    pub(super) requests: Requests,
    /// Set if state that the modules of one isolate share was changed, such as `process.env`.
    pub(super) has_shared_state: AtomicBool,
    /// The render request that the thread runs.
    pub(super) render_guard: RenderGuard,
    /// The modules that need an isolate each; `None` if this isolate belongs to one of them.
    pub(super) loners: Option<Arc<DedicatedModules>>,
    pub(super) programs: Arc<dyn Programs>,
    /// The key of the modules in this isolate.
    pub(super) key: IsolateKey,
    /// Dependencies of module loads, by the number of the request, until they are taken.
    witnessed: Mutex<HashMap<u32, LoadTrace>>,
    life: OnceLock<Life>,
    /// The sessions of debuggers, in the process of the isolate; `None` if there can be none.
    pub(super) sessions: Option<Sessions>,
    /// Its state for debuggers, in haft's process; `None` if none can attach.
    pub(super) target: Option<Arc<Target>>,
    /// In a worker process: the sender to haft's process.
    host: Option<Arc<dyn HostProcess>>,
    /// True when the thread has ended or was abandoned.
    gone: watch::Sender<bool>,
    /// Set if the program ends with the isolate, so that its memory need not be freed.
    leaves_memory: AtomicBool,
    /// The thread holds the sender, so the channel closes when the thread ends, however it ends.
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
}

/// The modules that changed built-in functions, so that each needs an isolate of its own.
#[derive(Default)]
pub(super) struct DedicatedModules(Mutex<HashSet<u32>>);

impl DedicatedModules {
    pub(super) fn contain(&self, module: u32) -> bool {
        self.modules().contains(&module)
    }

    fn modules(&self) -> MutexGuard<'_, HashSet<u32>> {
        lock(&self.0)
    }
}

/// Handles that exist once the isolate is ready.
enum Life {
    Thread {
        v8: v8::IsolateHandle,
        thread_id: i32,
    },
    Worker(Arc<dyn WorkerControl>),
}

pub(super) const RETIRED: &str = "the isolate was retired";

/// The pending actions of one isolate's tools.
pub(super) trait ActionList: Send + Sync {
    /// Adds an action. Returns false if it could never be resolved.
    fn push(&self, id: u32, label: &str) -> bool;

    /// Removes an action.
    fn done(&self, id: u32);

    /// Removes all actions, because the isolate has ended.
    fn lost(&self, why: &str);
}

/// The connection to the worker process of an isolate, for those who do not send requests to it.
pub(super) trait WorkerControl: Send + Sync {
    /// Asks the worker to end, whatever its isolate is doing.
    fn terminate(&self, why: &str);

    /// Kills the process and all processes below it.
    fn kill(&self);

    /// Interrupts the render request `id`, if the isolate runs it now.
    fn interrupt_render(&self, id: u32);

    /// Sets the files that the project's modules may load from now on.
    fn trust(&self, files: &VerifiedFiles);

    /// Opens a session of V8's inspector.
    fn open_inspector(&self, session: u32);

    /// Passes a message of the debugger to a session.
    fn inspect(&self, session: u32, message: String);

    /// Ends a session.
    fn close_inspector(&self, session: u32);
}

impl IsolateState {
    /// Returns the state of an isolate of haft's process, or of its connection to a worker process.
    /// `ended` is closed when the isolate has ended.
    pub(super) fn new(
        options: &EngineOptions,
        key: &IsolateKey,
        pending: Arc<dyn ActionList>,
        loners: Option<Arc<DedicatedModules>>,
        ended: std::sync::mpsc::Receiver<()>,
    ) -> Arc<IsolateState> {
        let is_inspected = options.debugging.is_inspected;
        let runs_here = key.isolation == Isolation::None;
        Arc::new(IsolateState {
            pending: Some(pending),
            loners,
            sessions: (is_inspected && runs_here).then(Sessions::default),
            target: is_inspected.then(Target::new),
            ..IsolateState::without_callers(options, key, ended)
        })
    }

    /// Returns the state of the isolate of a worker process. Its pending actions and traces are in
    /// haft's process.
    pub(super) fn of_worker(
        options: &EngineOptions,
        key: &IsolateKey,
        host: Arc<dyn HostProcess>,
        ended: std::sync::mpsc::Receiver<()>,
    ) -> Arc<IsolateState> {
        Arc::new(IsolateState {
            host: Some(host),
            sessions: options.debugging.is_inspected.then(Sessions::default),
            // The process ends with its isolate.
            leaves_memory: AtomicBool::new(true),
            ..IsolateState::without_callers(options, key, ended)
        })
    }

    fn without_callers(
        options: &EngineOptions,
        key: &IsolateKey,
        ended: std::sync::mpsc::Receiver<()>,
    ) -> IsolateState {
        IsolateState {
            termination: OnceLock::new(),
            retired: AtomicBool::new(false),
            pending: None,
            requests: Requests::default(),
            has_shared_state: AtomicBool::new(false),
            render_guard: RenderGuard::default(),
            leaves_memory: AtomicBool::new(false),
            loners: None,
            programs: options.programs.clone(),
            key: key.clone(),
            witnessed: Mutex::default(),
            life: OnceLock::new(),
            sessions: None,
            target: None,
            host: None,
            gone: watch::Sender::new(false),
            ended: Mutex::new(ended),
        }
    }

    /// Notes the reason for which the isolate must end. Returns false if there is one already.
    pub(super) fn begin_termination(&self, termination: Termination) -> bool {
        if self.termination.set(termination).is_err() {
            return false;
        }
        if let (Some(host), Some(termination)) = (&self.host, self.termination.get()) {
            host.ending(termination);
        }
        true
    }

    /// Makes V8 return from whatever JavaScript it runs.
    pub(super) fn terminate_javascript(&self) {
        match self.life.get() {
            Some(Life::Thread { v8, .. }) => {
                v8.terminate_execution();
                // A paused thread must go on to notice it.
                if let Some(sessions) = &self.sessions {
                    sessions.release();
                }
            }
            Some(Life::Worker(connection)) => connection.terminate(&self.why_it_ended()),
            None => {}
        }
    }

    /// Sets the reason for which the isolate has ended, unless there is one.
    pub(super) fn terminated_because(&self, why: &str) {
        // The first reason counts.
        let _ = self.termination.set(Termination::because(why));
    }

    /// Sets the reason for which a worker process was killed that used too much of the machine.
    pub(super) fn terminated_because_of_memory(&self, why: String) {
        // The first reason counts.
        let _ = self.termination.set(Termination::out_of_memory(why));
    }

    /// Returns the reason for which the isolate takes no work.
    pub(super) fn why_it_ended(&self) -> String {
        let terminate = self.termination.get();
        terminate.map_or_else(|| RETIRED.to_owned(), |terminate| terminate.why.clone())
    }

    /// Returns the connection to the isolate's worker process, if it has one.
    pub(super) fn connection(&self) -> Option<Arc<dyn WorkerControl>> {
        match self.life.get() {
            Some(Life::Worker(connection)) => Some(connection.clone()),
            Some(Life::Thread { .. }) | None => None,
        }
    }

    /// Ends what the isolate waits for, so that its thread notices a termination: the programs that
    /// it started, or its whole process.
    pub(super) fn kill_programs(&self, programs: &dyn Programs) {
        match self.life.get() {
            Some(Life::Worker(connection)) => connection.kill(),
            Some(Life::Thread { thread_id, .. }) => programs.kill_started_by(*thread_id),
            None => {}
        }
    }

    /// Stores the connection to the worker process in which the isolate runs.
    pub(super) fn lives_in_worker(&self, connection: Arc<dyn WorkerControl>) {
        // It is stored only once.
        let _ = self.life.set(Life::Worker(connection));
    }

    /// Gives `module` an isolate of its own, so that no other module sees what it changed here.
    /// What runs may end, but nothing new comes. Returns false if the isolate is its own already.
    pub(super) fn require_own_isolate(&self, module: u32) -> bool {
        let Some(loners) = &self.loners else {
            return false;
        };
        loners.modules().insert(module);
        self.retired.store(true, Ordering::Release);
        true
    }

    /// Stores the dependencies of the load `id`. Called before the load is answered.
    pub(super) fn witnessed(&self, id: u32, notes: LoadTrace) {
        let mut witnessed = lock(&self.witnessed);
        witnessed.insert(id, notes);
    }

    /// Takes the dependencies of the load `id`.
    pub(super) fn take_witnessed(&self, id: u32) -> Option<LoadTrace> {
        let mut witnessed = lock(&self.witnessed);
        witnessed.remove(&id)
    }

    /// Stores the handles of the isolate. Called on the thread once the isolate is ready.
    pub(super) fn lives(&self, v8: v8::IsolateHandle, thread_id: i32) {
        // The thread calls this only once.
        let _ = self.life.set(Life::Thread { v8, thread_id });
    }

    /// Returns true in a worker process.
    pub(super) fn is_in_worker(&self) -> bool {
        self.host.is_some()
    }

    /// Returns the id of the isolate's thread; 0 before the isolate is ready.
    pub(super) fn thread_id(&self) -> i32 {
        match self.life.get() {
            Some(Life::Thread { thread_id, .. }) => *thread_id,
            Some(Life::Worker(_)) | None => 0,
        }
    }

    /// Interrupts the request `id` if the thread renders it right now; everything else goes on.
    /// Returns false if the thread does not render it.
    pub(super) fn interrupt_drawing(&self, id: u32) -> bool {
        match self.life.get() {
            Some(Life::Thread { v8, .. }) => self.render_guard.interrupt(id, v8),
            Some(Life::Worker(connection)) => {
                connection.interrupt_render(id);
                true
            }
            None => false,
        }
    }

    /// Waits for the end of the thread. Returns true if it has ended in that time.
    pub(super) fn has_ended_within(&self, timeout: Duration) -> bool {
        let ended = lock(&self.ended);
        // Nothing is ever sent: an error other than a timeout means that the thread has ended.
        ended.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }

    /// Waits until the thread has ended or was abandoned.
    pub(super) async fn gone(&self) {
        let mut gone = self.gone.subscribe();
        // The channel cannot close: `self` holds the sender.
        let _ = gone.wait_for(|gone| *gone).await;
    }

    /// Returns true if the thread has ended or was abandoned.
    pub(super) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Leaves the isolate's memory to the system, because the program ends with the isolate.
    pub(super) fn skip_teardown(&self) {
        self.leaves_memory.store(true, Ordering::Release);
    }

    /// Returns true if its memory is left to the system.
    pub(super) fn leaves_memory(&self) -> bool {
        self.leaves_memory.load(Ordering::Acquire)
    }

    /// Answers all requests that still wait, and those that come later.
    pub(super) fn answer_all(&self) {
        let retired = || Termination::because(RETIRED);
        let terminate = self.termination.get().cloned().unwrap_or_else(retired);
        self.requests.close(&terminate);
        if let Some(pending) = &self.pending {
            pending.lost(&terminate.why);
        }
    }

    /// Answers all requests, and ends all waiting for the end of the thread.
    pub(super) fn abandon(&self) {
        self.answer_all();
        self.gone.send_replace(true);
    }
}
