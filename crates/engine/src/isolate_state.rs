//! State of one isolate, which its handle and its connection to the worker process share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::watch;

use super::IsolateKey;
use super::inspector::Target;
use super::load_inputs::LoadTrace;
use super::lock;
use super::messages::Termination;
use super::options::EngineOptions;
use super::requests::Requests;

/// State of one isolate in haft's process.
pub(super) struct IsolateState {
    /// Reason for which the isolate must end now.
    pub(super) termination: OnceLock<Termination>,
    /// Set if the isolate takes no new work and ends with its last call.
    pub(super) retired: AtomicBool,
    /// The pending actions of its tools.
    pub(super) pending: Arc<dyn ActionList>,
    pub(super) requests: Requests,
    /// The modules that need an isolate each; `None` if this isolate belongs to one of them.
    loners: Option<Arc<DedicatedModules>>,
    /// The key of the modules in this isolate.
    pub(super) key: IsolateKey,
    /// Dependencies of module loads, by the number of the request, until they are taken.
    witnessed: Mutex<HashMap<u32, LoadTrace>>,
    /// Its state for debuggers; `None` if none can attach.
    pub(super) target: Option<Arc<Target>>,
    /// True when the worker process has ended or was abandoned.
    gone: watch::Sender<bool>,
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

impl IsolateState {
    pub(super) fn new(
        options: &EngineOptions,
        key: &IsolateKey,
        pending: Arc<dyn ActionList>,
        loners: Option<Arc<DedicatedModules>>,
    ) -> Arc<IsolateState> {
        Arc::new(IsolateState {
            termination: OnceLock::new(),
            retired: AtomicBool::new(false),
            pending,
            requests: Requests::default(),
            loners,
            key: key.clone(),
            witnessed: Mutex::default(),
            target: options.debugging.is_inspected.then(Target::new),
            gone: watch::Sender::new(false),
        })
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

    /// Waits until the worker process has ended or was abandoned.
    pub(super) async fn gone(&self) {
        let mut gone = self.gone.subscribe();
        // The channel cannot close: `self` holds the sender.
        let _ = gone.wait_for(|gone| *gone).await;
    }

    /// Returns true if the worker process has ended or was abandoned.
    pub(super) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Answers all requests that still wait, and those that come later.
    pub(super) fn answer_all(&self) {
        let retired = || Termination::because(RETIRED);
        let terminate = self.termination.get().cloned().unwrap_or_else(retired);
        self.requests.close(&terminate);
        self.pending.lost(&terminate.why);
    }

    /// Answers all requests, and ends all waiting for the end of the process.
    pub(super) fn abandon(&self) {
        self.answer_all();
        self.gone.send_replace(true);
    }
}
