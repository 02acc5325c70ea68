//! The `Send` handle of one isolate. Requests go to its worker process, and each answer comes back by
//! a oneshot channel.
//!
//! States of an isolate:
//!
//! - It takes work.
//! - Retired: it finishes what runs and takes nothing new. Then it is gone.
//! - Terminated: V8 is stopped at once, everything that ran is lost, and the process ends.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use super::connection::{BootingWorker, Connection, ConnectionRuntime};
use super::inspector::Target;
use super::isolate_state::{ActionList, DedicatedModules, IsolateState, RETIRED};
use super::load_inputs::LoadTrace;
use super::lock;
use super::messages::{Answer, Ask, Termination, Withdrawn};
use super::requests::{Caller, Slot};
use super::{EngineOptions, IsolateKey};

/// One isolate as the rest of the engine sees it.
pub(super) struct Isolate {
    connection: Arc<Connection>,
    modules: Mutex<HashSet<u32>>,
    /// The modules whose tools were notified of the session's start; false after its end was sent.
    in_session: Mutex<HashMap<u32, bool>>,
}

/// A request that was sent, and the receiver of its answer.
pub(super) struct Asked {
    pub(super) id: u32,
    pub(super) answer: oneshot::Receiver<Answer>,
    /// The connection through which the answer comes.
    connection: Arc<Connection>,
}

impl Future for Asked {
    type Output = Result<Answer, oneshot::error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = Pin::new(&mut self.answer).poll(cx) {
            return Poll::Ready(answer);
        }
        self.connection.look();
        Pin::new(&mut self.answer).poll(cx)
    }
}

/// Receiver of the answer to a ping.
pub(super) struct Ping(Option<oneshot::Receiver<()>>);

impl Isolate {
    /// Starts a worker process with an isolate, or takes the `spare` one, and waits until the isolate
    /// is ready. The worker compiles `files` meanwhile.
    pub(super) async fn start(
        options: &EngineOptions,
        key: &IsolateKey,
        pending: Arc<dyn ActionList>,
        loners: Option<Arc<DedicatedModules>>,
        spare: Option<BootingWorker>,
        runtime: ConnectionRuntime,
        files: Vec<PathBuf>,
    ) -> Result<Arc<Isolate>, String> {
        tracing::debug!("an isolate starts");
        let state = IsolateState::new(options, key, pending, loners);
        let connection = Connection::start(options, &state, spare, runtime, files).await?;
        Ok(Arc::new(Isolate {
            connection,
            modules: Mutex::default(),
            in_session: Mutex::default(),
        }))
    }

    /// Returns false if the isolate is retired, terminated or gone. Retires one whose files were
    /// replaced.
    pub(super) fn takes_work(&self) -> bool {
        let is_at_work = self.state().termination.get().is_none()
            && !self.state().retired.load(Ordering::Acquire)
            && !self.connection.is_closed();
        if is_at_work && !self.connection.is_current() {
            self.state().retired.store(true, Ordering::Release);
            self.connection.end_if_retired();
            return false;
        }
        is_at_work
    }

    /// Returns the key of the modules in this isolate.
    pub(super) fn key(&self) -> &IsolateKey {
        &self.state().key
    }

    /// Returns the reason for which it takes no more work.
    pub(super) fn why_not(&self) -> &str {
        self.state()
            .termination
            .get()
            .map_or(RETIRED, |terminate| terminate.why.as_str())
    }

    /// Sends a request; `make` receives its number.
    pub(super) fn ask(&self, make: impl FnOnce(u32) -> Ask, caller: Option<Caller>) -> Asked {
        let (sender, answer) = oneshot::channel();
        let id = self.connection.ask(|id| {
            self.state().requests.expect(id, Slot::new(caller, sender));
            make(id)
        });
        Asked {
            id,
            answer,
            connection: self.connection.clone(),
        }
    }

    /// Takes a request back before its tool starts, if there is still time.
    pub(super) async fn withdraw(&self, asked: &Asked) -> Withdrawn {
        let withdrawn = self.connection.withdraw(asked.id).await;
        if withdrawn == Withdrawn::Unseen {
            self.state().requests.forget(asked.id);
        }
        withdrawn
    }

    /// Forgets a request: its answer is not needed.
    pub(super) fn forget(&self, asked: &Asked) {
        self.state().requests.forget(asked.id);
    }

    /// Sends an order that has no answer.
    pub(super) fn send(&self, ask: Ask) {
        self.connection.order(ask);
    }

    /// Pings the isolate's thread.
    pub(super) fn ping(&self) -> Ping {
        let (sender, receiver) = oneshot::channel();
        self.connection.ping(sender);
        Ping(Some(receiver))
    }

    /// Interrupts a render request, if the isolate runs it now.
    pub(super) fn interrupt_render(&self, asked: &Asked) {
        self.connection.interrupt_render(asked.id);
    }

    /// Takes no new work, and ends when what runs has ended. The request `abandoned` does not
    /// count.
    pub(super) fn retire(&self, abandoned: u32) {
        self.state().retired.store(true, Ordering::Release);
        self.state().requests.forget(abandoned);
        self.connection.end_if_retired();
    }

    /// Ends the isolate whatever it is doing. Everything that runs in it is lost.
    pub(super) fn terminate(&self, why: &str) {
        self.connection.terminate(Termination::because(why));
    }

    /// Ends the isolate if leftover work of calls that have ended keeps it busy.
    pub(super) fn terminate_if_blocked_by_leftover_work(&self) {
        if self.state().requests.is_blocked_without_running_call() {
            self.terminate("something that an earlier call left behind never paused");
        }
    }

    fn state(&self) -> &IsolateState {
        self.connection.state()
    }

    /// Returns the connection, which the engine keeps after it has given the handle away.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Takes the dependencies of a load.
    pub(super) fn take_witnessed(&self, asked: &Asked) -> Option<LoadTrace> {
        self.state().take_witnessed(asked.id)
    }

    /// Returns true if JavaScript has not seen the request yet.
    pub(super) fn lets_wait(&self, asked: &Asked) -> bool {
        self.state().requests.is_waiting(asked.id)
    }

    /// Returns the last request that JavaScript has seen. It changes while the isolate works
    /// through its queue.
    pub(super) fn last_taken(&self) -> u32 {
        self.state().requests.last_taken()
    }

    /// Reports to the caller that the tool runs, because the isolate may be too busy to do so.
    pub(super) fn tell_start(&self, asked: &Asked) {
        self.state().requests.tell_start(asked.id);
        if self.state().requests.is_start_unknown(asked.id) {
            self.connection.ask_start(asked.id);
        }
    }

    /// Returns its state for debuggers; `None` if none can attach.
    pub(super) fn target(&self) -> Option<&Arc<Target>> {
        self.state().target.as_ref()
    }

    /// Returns true if a debugger has paused it.
    pub(super) fn is_paused(&self) -> bool {
        self.target().is_some_and(|target| target.is_paused())
    }

    pub(super) fn has_module(&self, module: u32) -> bool {
        lock(&self.modules).contains(&module)
    }

    /// Returns true if the tools of `module` were notified of the session here.
    pub(super) fn was_in_session(&self, module: u32) -> bool {
        self.in_session().contains_key(&module)
    }

    /// Notes that the tools of these modules were notified of the session.
    pub(super) fn joined_session(&self, modules: impl IntoIterator<Item = u32>) {
        let modules = modules.into_iter().map(|module| (module, true));
        self.in_session().extend(modules);
    }

    /// Notes that the session is over. Returns the modules that were not notified of its end yet.
    pub(super) fn end_session(&self) -> Vec<u32> {
        let mut in_session = self.in_session();
        let open = in_session.iter_mut().filter(|(_, is_open)| **is_open);
        let mut modules: Vec<u32> = open
            .map(|(module, is_open)| {
                *is_open = false;
                *module
            })
            .collect();
        modules.sort_unstable();
        modules
    }

    fn in_session(&self) -> MutexGuard<'_, HashMap<u32, bool>> {
        lock(&self.in_session)
    }

    pub(super) fn module_loaded(&self, module: u32) {
        lock(&self.modules).insert(module);
    }
}

impl Drop for Isolate {
    fn drop(&mut self) {
        self.terminate("nothing uses the isolate any more");
    }
}

impl Ping {
    /// Returns true as soon as the isolate has answered, false as soon as it ends. Works once.
    pub(super) async fn has_answered(&mut self) -> bool {
        let Some(answer) = &mut self.0 else {
            return false;
        };
        let has_answered = answer.await.is_ok();
        self.0 = None;
        has_answered
    }

    /// Returns true as soon as the isolate has answered, false if it does not in that time.
    pub(super) async fn answered_within(mut self, time: Duration) -> bool {
        let answered = tokio::time::timeout(time, self.has_answered()).await;
        answered.unwrap_or(false)
    }
}
