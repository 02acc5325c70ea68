//! The `Send` handle of one isolate. Requests go in by one channel, and each answer comes back by a
//! oneshot channel.
//!
//! States of an isolate:
//!
//! - It takes work.
//! - Retired: it finishes what runs and takes nothing new. Then it is gone.
//! - Terminated: V8 is stopped at once, everything that ran is lost, and the thread ends.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::inspector::Target;
use super::isolate_state::{ActionList, DedicatedModules, IsolateState, RETIRED};
use super::local_link::LocalLink;
use super::lock;
use super::messages::{Answer, Ask, Message, PingSink, Termination, Withdrawn};
use super::requests::{AnswerSink, Caller, Slot};
use super::worker::{BootingWorker, Connection};
use super::{EngineOptions, IsolateKey, spin_wait, thread};
use haft_tool::Isolation;

/// One isolate as the rest of the engine sees it.
pub(super) struct Isolate {
    shared: Arc<IsolateState>,
    place: Place,
    modules: Mutex<HashSet<u32>>,
    /// The modules whose tools were notified of the session's start; false after its end was sent.
    in_session: Mutex<HashMap<u32, bool>>,
}

/// Place in which an isolate runs.
enum Place {
    /// On a thread of this process.
    Thread {
        asks: mpsc::UnboundedSender<Message>,
        next_id: AtomicU32,
    },
    /// In a worker process.
    Worker(Arc<Connection>),
}

/// A request that was sent, and the receiver of its answer.
pub(super) struct Asked {
    pub(super) id: u32,
    pub(super) answer: oneshot::Receiver<Answer>,
    /// The connection through which the answer comes from a worker process.
    connection: Option<Arc<Connection>>,
}

impl Future for Asked {
    type Output = Result<Answer, oneshot::error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(connection) = &self.connection {
            connection.look();
        }
        Pin::new(&mut self.answer).poll(cx)
    }
}

/// Receiver of the answer to a ping.
pub(super) struct Ping(Option<oneshot::Receiver<()>>);

impl Isolate {
    /// Starts a thread or a worker process with an isolate, or takes the `spare` worker, and waits
    /// until the isolate is ready.
    pub(super) async fn start(
        options: &EngineOptions,
        key: &IsolateKey,
        pending: Arc<dyn ActionList>,
        loners: Option<Arc<DedicatedModules>>,
        spare: Option<BootingWorker>,
    ) -> Result<Arc<Isolate>, String> {
        tracing::debug!("an isolate starts");
        let (alive, ended) = std::sync::mpsc::channel();
        let shared = IsolateState::new(options, key, pending, loners, ended);
        let place = if key.isolation == Isolation::None {
            let (asks, inbox) = mpsc::unbounded_channel();
            let callers = Arc::new(LocalLink::new(shared.clone(), options));
            let (ready, booted) = oneshot::channel();
            let ready = move |result| drop(ready.send(result));
            thread::spawn(
                options.clone(),
                shared.clone(),
                Box::new(inbox),
                callers,
                alive,
                ready,
            )
            .map_err(|error| format!("cannot start a thread for an isolate: {error}"))?;
            booted
                .await
                .map_err(|_| "the isolate's thread ended while it started".to_owned())??;
            let next_id = AtomicU32::new(1);
            Place::Thread { asks, next_id }
        } else {
            Place::Worker(Connection::start(options, &shared, spare, alive).await?)
        };
        Ok(Arc::new(Isolate {
            shared,
            place,
            modules: Mutex::default(),
            in_session: Mutex::default(),
        }))
    }

    /// Returns false if the isolate is retired, terminated or gone.
    pub(super) fn takes_work(&self) -> bool {
        self.shared.termination.get().is_none()
            && !self.shared.retired.load(Ordering::Acquire)
            && !self.is_closed()
    }

    fn is_closed(&self) -> bool {
        match &self.place {
            Place::Thread { asks, .. } => asks.is_closed(),
            Place::Worker(connection) => connection.is_closed(),
        }
    }

    /// Returns the key of the modules in this isolate.
    pub(super) fn key(&self) -> &IsolateKey {
        &self.shared.key
    }

    /// Returns the reason for which it takes no more work.
    pub(super) fn why_not(&self) -> &str {
        self.shared
            .termination
            .get()
            .map_or(RETIRED, |terminate| terminate.why.as_str())
    }

    /// Sends a request; `make` receives its number.
    pub(super) fn ask(&self, make: impl FnOnce(u32) -> Ask, caller: Option<Caller>) -> Asked {
        let (sender, answer) = oneshot::channel();
        let make = |id| {
            let ask = make(id);
            let slot = Slot::new(caller, AnswerSink::Caller(sender), ask.purpose());
            self.shared.requests.expect(id, slot);
            ask
        };
        let (id, connection) = match &self.place {
            Place::Thread { asks, next_id } => {
                let id = next_id.fetch_add(1, Ordering::Relaxed);
                spin_wait::request_sent_on(spin_wait::current_processor());
                // If the thread has ended, the request was answered already.
                let _ = asks.send(Message::Ask(make(id)));
                (id, None)
            }
            Place::Worker(connection) => (connection.ask(make), Some(connection.clone())),
        };
        Asked {
            id,
            answer,
            connection,
        }
    }

    /// Takes a request back before its tool starts, if there is still time.
    pub(super) async fn withdraw(&self, asked: &Asked) -> Withdrawn {
        match &self.place {
            Place::Thread { .. } => self.shared.requests.withdraw(asked.id),
            Place::Worker(connection) => {
                let state = connection.withdraw(asked.id).await;
                if state == Withdrawn::Unseen {
                    self.shared.requests.forget(asked.id);
                }
                state
            }
        }
    }

    /// Forgets a request: its answer is not needed.
    pub(super) fn forget(&self, asked: &Asked) {
        self.shared.requests.forget(asked.id);
    }

    /// Sends an order that has no answer.
    pub(super) fn send(&self, ask: Ask) {
        match &self.place {
            // A thread that has ended needs no order.
            Place::Thread { asks, .. } => drop(asks.send(Message::Ask(ask))),
            Place::Worker(connection) => connection.order(ask),
        }
    }

    /// Pings the isolate's thread.
    pub(super) fn ping(&self) -> Ping {
        let (sender, receiver) = oneshot::channel();
        match &self.place {
            Place::Thread { asks, .. } => drop(asks.send(Message::Ping(PingSink::Caller(sender)))),
            Place::Worker(connection) => connection.ping(sender),
        }
        Ping(Some(receiver))
    }

    /// Takes no new work, and ends when what runs has ended. The request `abandoned` does not
    /// count.
    pub(super) fn retire(&self, abandoned: u32) {
        self.shared.retired.store(true, Ordering::Release);
        self.shared.requests.forget(abandoned);
        self.wake();
    }

    /// Ends the isolate whatever it is doing. Everything that runs in it is lost.
    pub(super) fn terminate(&self, why: &str) {
        self.shared.terminate(Termination::because(why));
        self.wake();
    }

    /// Ends the isolate if leftover work of calls that have ended keeps it busy.
    pub(super) fn terminate_if_blocked_by_leftover_work(&self) {
        if self.shared.requests.is_blocked_without_running_call() {
            self.terminate("something that an earlier call left behind never paused");
        }
    }

    /// Wakes the thread, so that it checks whether it has to end.
    fn wake(&self) {
        match &self.place {
            Place::Thread { asks, .. } => {
                let (sender, _) = oneshot::channel();
                drop(asks.send(Message::Ping(PingSink::Caller(sender))));
            }
            Place::Worker(connection) => connection.end_if_retired(&self.shared),
        }
    }

    /// Returns the state that the engine keeps of an isolate after it has given the handle away.
    pub(super) fn shared(&self) -> Arc<IsolateState> {
        self.shared.clone()
    }

    /// Returns true if JavaScript has not seen the request yet.
    pub(super) fn lets_wait(&self, asked: &Asked) -> bool {
        self.shared.requests.is_waiting(asked.id)
    }

    /// Returns the last request that JavaScript has seen. It changes while the isolate works
    /// through its queue.
    pub(super) fn last_taken(&self) -> u32 {
        self.shared.requests.last_taken()
    }

    /// Reports to the caller that the tool runs, because the thread may be too busy to do so.
    pub(super) fn tell_start(&self, asked: &Asked) {
        self.shared.requests.tell_start(asked.id);
        if let Place::Worker(connection) = &self.place
            && self.shared.requests.is_start_unknown(asked.id)
        {
            connection.ask_start(asked.id);
        }
    }

    /// Returns its state for debuggers; `None` if none can attach.
    pub(super) fn target(&self) -> Option<&Arc<Target>> {
        self.shared.target.as_ref()
    }

    /// Returns true if a debugger has paused it.
    pub(super) fn is_paused(&self) -> bool {
        self.target().is_some_and(|target| target.is_paused())
    }

    /// Returns true if no request is open.
    pub(super) fn is_idle(&self) -> bool {
        self.shared.requests.is_idle()
    }

    /// Returns true if the module may still move to another isolate.
    pub(super) fn could_lose(&self, module: u32) -> bool {
        self.shared.loners.is_some()
            && !self.shared.has_shared_state.load(Ordering::Relaxed)
            && self.shared.requests.is_unused(module)
    }

    /// Moves the module's waiting requests to another isolate. Returns false if it cannot leave any
    /// more.
    pub(super) async fn evict(&self, module: u32) -> bool {
        let may_leave = match &self.place {
            Place::Thread { .. } => true,
            Place::Worker(connection) => self.could_lose(module) && connection.evict(module).await,
        };
        let has_left = may_leave && self.could_lose(module) && self.shared.requests.evict(module);
        if has_left {
            self.forget_module(module);
        }
        has_left
    }

    /// Accepts the module's requests again after it was sent away.
    pub(super) fn readmit(&self, module: u32) {
        self.shared.requests.readmit(module);
        if let Place::Worker(connection) = &self.place {
            connection.readmit(module);
        }
    }

    /// Makes JavaScript forget the module's tools.
    pub(super) fn forget_module(&self, module: u32) {
        lock(&self.modules).remove(&module);
        self.send(Ask::Leave { module });
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
