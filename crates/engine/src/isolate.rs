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
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use deno_core::v8;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use super::caller_link::LocalLink;
use super::inspector::{Sessions, Target};
use super::load_trace::LoadTrace;
use super::pending::PendingActions;
use super::render::RenderGuard;
use super::requests::{Caller, Purpose, Requests, Slot, Termination, Withdrawn};
use super::thread::Inbox;
use super::worker::{BootingWorker, Connection, HostSender};
use super::{EngineOptions, IsolateKey, Programs, spin_wait, termination, thread};
use haft_tool::Isolation;

/// One isolate as the rest of the engine sees it.
pub(super) struct Isolate {
    shared: Arc<Shared>,
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

/// State that the handle, the thread and the watchdog (`termination`) share.
pub(super) struct Shared {
    /// Reason for which the isolate must end now. Set before V8 is terminated, so that the thread
    /// does not take the termination for an error of a tool.
    pub(super) termination: OnceLock<Termination>,
    /// Set if the isolate takes no new work and ends with its last call.
    pub(super) retired: AtomicBool,
    /// The pending actions of all isolates.
    pub(super) pending: Arc<PendingActions>,
    /// The isolate's number in `pending`.
    pub(super) home: u64,
    pub(super) requests: Requests,
    /// Set if state that the modules of one isolate share was changed, such as `process.env`.
    pub(super) has_shared_state: AtomicBool,
    /// The render request that the thread runs.
    pub(super) brush: RenderGuard,
    /// The modules that need an isolate each; `None` if this isolate belongs to one of them.
    loners: Option<Arc<DedicatedModules>>,
    programs: Arc<dyn Programs>,
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
    host: Option<Arc<HostSender>>,
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
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Handles that exist once the isolate is ready.
enum Life {
    Thread {
        v8: v8::IsolateHandle,
        thread_id: i32,
    },
    Worker(Arc<Connection>),
}

pub(super) const RETIRED: &str = "the isolate was retired";

/// A message to the thread: a request, whose slot is in [`Requests`], or a ping.
pub(super) enum Message {
    Ask(Ask),
    Ping(PingSink),
}

/// Receiver of the answer to a ping.
pub(super) enum PingSink {
    Caller(oneshot::Sender<()>),
    /// haft's process, which gave the ping this number.
    Host(Arc<HostSender>, u32),
}

impl PingSink {
    pub(super) fn answer(self) {
        match self {
            // The caller may have stopped waiting.
            PingSink::Caller(sender) => drop(sender.send(())),
            PingSink::Host(host, number) => host.pong(number),
        }
    }
}

/// Receiver of the answer to a request.
pub(super) enum AnswerSink {
    Caller(oneshot::Sender<Answer>),
    /// haft's process, which gave the request this number.
    Host(Arc<HostSender>, u32),
}

impl AnswerSink {
    /// Sends the answer. `has_started` is set if the tool has started.
    pub(super) fn send(self, answer: Answer, has_started: bool) {
        match self {
            // The caller may have stopped waiting.
            AnswerSink::Caller(sender) => drop(sender.send(answer)),
            AnswerSink::Host(host, id) => host.answer(id, has_started, answer),
        }
    }
}

/// A request or an order to an isolate.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Import a module and run its factory.
    Load { id: u32, module: u32, url: String },
    /// Call a tool.
    Invoke {
        id: u32,
        module: u32,
        tool: u32,
        call_id: String,
        arguments: String,
        /// The span of the call, as a `traceparent`, if the spans of tools are sent.
        span: Option<String>,
        /// Set if the answers from outside are recorded.
        is_recorded: bool,
    },
    /// Check arguments and report the approval that the call requires; it waits for `Start` or
    /// `Forget`. If the call was approved in another isolate, only the arguments are reported.
    Prepare {
        id: u32,
        module: u32,
        tool: u32,
        arguments: String,
        is_approved: bool,
    },
    /// Start the call that the request `prepared` prepared.
    Start {
        id: u32,
        prepared: u32,
        call_id: String,
        /// Like that of `Invoke`.
        span: Option<String>,
        /// Like that of `Invoke`.
        is_recorded: bool,
    },
    /// Drop the prepared call.
    Forget { prepared: u32 },
    /// Check arguments.
    Check {
        id: u32,
        module: u32,
        tool: u32,
        arguments: String,
    },
    /// Read a tool's description again.
    Describe { id: u32, module: u32, tool: u32 },
    /// Render a call or a result; `request` is the JSON of `js-runtime/35_render.ts`.
    Render {
        id: u32,
        module: u32,
        tool: u32,
        request: String,
    },
    /// Fire the AbortSignal of a call.
    Cancel { id: u32, reason: String },
    /// Send a session event to every `onSession`, or to those of some modules.
    Session {
        id: u32,
        event: String,
        modules: Option<Vec<u32>>,
    },
    /// Call the handlers of `process.on('exit')`.
    Exit { id: u32 },
    /// Stop the profiler and return its profile; an empty text if there is none.
    Profile { id: u32 },
    /// Forget a module's tools: the module has moved to another isolate.
    Leave { module: u32 },
}

impl Ask {
    pub(super) fn purpose(&self) -> Option<Purpose> {
        match self {
            Ask::Load { module, .. } => Some(Purpose::Load(*module)),
            Ask::Invoke { module, .. } | Ask::Prepare { module, .. } => {
                Some(Purpose::Call(*module))
            }
            // A prepared call starts in the isolate that prepared it; requests that only read
            // change nothing.
            Ask::Start { .. }
            | Ask::Forget { .. }
            | Ask::Check { .. }
            | Ask::Describe { .. }
            | Ask::Render { .. }
            | Ask::Cancel { .. }
            | Ask::Session { .. }
            | Ask::Exit { .. }
            | Ask::Profile { .. }
            | Ask::Leave { .. } => None,
        }
    }
}

/// The last answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// JSON text.
    Done(String),
    /// The arguments are invalid; the text says why.
    Refused(String),
    /// The request failed; the text is a sentence or JSON.
    Failed(String),
    /// The isolate ended before the request did.
    Lost(Lost),
    /// The isolate ran out of memory while this request alone ran in it.
    OutOfMemory(Lost),
    /// The isolate ended before JavaScript saw the request.
    NotStarted,
    /// The call was cancelled before its tool started.
    Withdrawn,
}

/// Reason for which an isolate ended before it answered a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lost(pub String);

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

impl Shared {
    fn new(
        options: &EngineOptions,
        key: &IsolateKey,
        host: Option<Arc<HostSender>>,
        ended: std::sync::mpsc::Receiver<()>,
    ) -> Shared {
        Shared {
            termination: OnceLock::new(),
            retired: AtomicBool::new(false),
            pending: Arc::new(PendingActions::new(false)),
            home: 0,
            requests: Requests::default(),
            has_shared_state: AtomicBool::new(false),
            brush: RenderGuard::default(),
            leaves_memory: AtomicBool::new(false),
            loners: None,
            programs: options.programs.clone(),
            key: key.clone(),
            witnessed: Mutex::default(),
            life: OnceLock::new(),
            sessions: (options.debugging.is_inspected
                && (host.is_some() || key.isolation == Isolation::None))
                .then(Sessions::default),
            target: options.inspector.as_ref().map(|_| Target::new()),
            host,
            gone: watch::Sender::new(false),
            ended: Mutex::new(ended),
        }
    }

    /// Returns the state of the isolate of a worker process. Its pending actions and traces are in
    /// haft's process.
    pub(super) fn of_worker(
        options: &EngineOptions,
        key: &IsolateKey,
        host: Arc<HostSender>,
        ended: std::sync::mpsc::Receiver<()>,
    ) -> Arc<Shared> {
        let shared = Shared::new(options, key, Some(host), ended);
        // The process ends with its isolate.
        shared.skip_teardown();
        Arc::new(shared)
    }

    /// Ends the isolate whatever it is doing. Everything that runs in it is lost. Only the first
    /// reason counts.
    pub(super) fn terminate(self: &Arc<Self>, terminate: Termination) {
        // Code that no request waits for is most often near its end. It may be loading a built-in
        // module of Deno, which panics when it is interrupted. A full heap cannot wait.
        let may_end_by_itself = !terminate.is_out_of_memory && self.requests.is_idle();
        if self.termination.set(terminate).is_err() {
            return;
        }
        if let (Some(host), Some(terminate)) = (&self.host, self.termination.get()) {
            host.ending(terminate);
        }
        // A worker process decides this by itself, and has to know at once.
        if !may_end_by_itself || self.connection().is_some() {
            self.terminate_javascript();
        }
        termination::spawn_watchdog(self, &self.programs);
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
    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
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
    pub(super) fn lives_in_worker(&self, connection: Arc<Connection>) {
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
        let mut witnessed = self.witnessed.lock().expect("no panic holds this lock");
        witnessed.insert(id, notes);
    }

    /// Takes the dependencies of the load `id`.
    pub(super) fn take_witnessed(&self, id: u32) -> Option<LoadTrace> {
        let mut witnessed = self.witnessed.lock().expect("no panic holds this lock");
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
            Some(Life::Thread { v8, .. }) => self.brush.interrupt(id, v8),
            Some(Life::Worker(connection)) => {
                connection.interrupt_render(id);
                true
            }
            None => false,
        }
    }

    /// Waits for the end of the thread. Returns true if it has ended in that time.
    pub(super) fn has_ended_within(&self, timeout: Duration) -> bool {
        let ended = self
            .ended
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
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
        self.pending.home_lost(self.home, &terminate.why);
    }

    /// Answers all requests, and ends all waiting for the end of the thread.
    pub(super) fn abandon(&self) {
        self.answer_all();
        self.gone.send_replace(true);
    }
}

impl Isolate {
    /// Starts a thread or a worker process with an isolate, or takes the `spare` worker, and waits
    /// until the isolate is ready.
    pub(super) async fn start(
        options: &EngineOptions,
        key: &IsolateKey,
        pending: Arc<PendingActions>,
        loners: Option<Arc<DedicatedModules>>,
        spare: Option<BootingWorker>,
    ) -> Result<Arc<Isolate>, String> {
        tracing::debug!("an isolate starts");
        let home = pending.new_home();
        let (alive, ended) = std::sync::mpsc::channel();
        let shared = Arc::new(Shared {
            pending,
            home,
            loners,
            ..Shared::new(options, key, None, ended)
        });
        let place = if key.isolation == Isolation::None {
            let (asks, inbox) = mpsc::unbounded_channel();
            let callers = Arc::new(LocalLink::new(shared.clone(), options));
            let (ready, booted) = oneshot::channel();
            let inbox = Inbox::Channel(inbox);
            let ready = move |result| drop(ready.send(result));
            thread::spawn(
                options.clone(),
                shared.clone(),
                inbox,
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
        let isolate = Arc::new(Isolate {
            shared,
            place,
            modules: Mutex::default(),
            in_session: Mutex::default(),
        });
        isolate.shared.pending.moved_in(home, &isolate);
        if let Some(inspector) = &options.inspector {
            inspector.add(&isolate.shared);
        }
        Ok(isolate)
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
    pub(super) fn shared(&self) -> Arc<Shared> {
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
        self.modules
            .lock()
            .expect("no panic holds this lock")
            .remove(&module);
        self.send(Ask::Leave { module });
    }

    pub(super) fn has_module(&self, module: u32) -> bool {
        self.modules
            .lock()
            .expect("no panic holds this lock")
            .contains(&module)
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
        self.in_session
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn module_loaded(&self, module: u32) {
        self.modules
            .lock()
            .expect("no panic holds this lock")
            .insert(module);
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
