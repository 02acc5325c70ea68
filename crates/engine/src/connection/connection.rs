//! haft's side of a worker process: sends requests, passes what comes back to the callers, and
//! notices the end of the process.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use deno_core::{InspectorMsg, InspectorMsgKind};
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::runtime::ConnectionRuntime;
use super::spare::BootingWorker;
use crate::caller_bridge::CallerBridge;
use crate::isolate_state::{IsolateState, RETIRED};
use crate::messages::{Ask, Termination, Withdrawn};
use crate::services::WorkerProcess;
use crate::spin_wait;
use crate::telemetry;
use crate::verify::Verifier;
use crate::worker::protocol::{
    Control, FromWorker, Query, Reply, ToWorker, TrustedFiles, level_of,
};
use crate::worker::socket::{self, MessageReader, Received};
use crate::{EngineOptions, lock};
use haft_tool::{PermissionKind, Replay, ReplayAnswer, VerifiedFiles};

/// Time in which a worker has to start its isolate.
const BOOT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time in which the control thread of a worker has to answer. It never waits for JavaScript.
const CONTROL_TIMEOUT: Duration = Duration::from_millis(500);

/// Time in which a worker has to stop its programs and to end by itself.
const WORKER_TIMEOUT: Duration = Duration::from_millis(400);

/// Time in which a killed worker has to end before its callers are answered.
const NOTICE_TIMEOUT: Duration = Duration::from_millis(50);

/// Time in which the system has to free the memory of a killed worker.
const KILL_TIMEOUT: Duration = Duration::from_millis(900);

/// Time in which the system has to report the end of a process that has closed its socket.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of messages that are handled before other tasks have their turn.
const MAX_MESSAGES_PER_TURN: usize = 64;

/// Limit of the questions and components that a worker has open.
const MAX_OPEN_QUERIES: usize = 4096;

/// Connection to the worker process of one isolate.
pub(crate) struct Connection {
    this: Weak<Connection>,
    main: Arc<OwnedFd>,
    control: OwnedFd,
    /// Held while the packets of one message are sent.
    control_turn: Mutex<()>,
    outbox: Mutex<Outbox>,
    /// Notified when packets wait in the outbox.
    full: Notify,
    incoming: Mutex<Incoming>,
    process: Arc<dyn WorkerProcess>,
    state: Arc<IsolateState>,
    /// Ends with the task that reads the socket.
    link: OnceLock<Weak<CallerBridge>>,
    runtime: tokio::runtime::Handle,
    next_number: AtomicU32,
    pings: Expected<()>,
    withdrawals: Expected<Withdrawn>,
    open_queries: AtomicUsize,
    /// True once the worker has said that it ends and that no program is left.
    leaves_nothing: AtomicBool,
    /// The task that reaps a worker that has ended in order.
    reaping: Mutex<Option<JoinHandle<()>>>,
    tape: Option<Arc<dyn Replay>>,
    verifier: Option<Arc<Verifier>>,
}

/// Receivers of answers that the worker has not sent yet, by number.
struct Expected<T>(Mutex<HashMap<u32, oneshot::Sender<T>>>);

impl<T> Default for Expected<T> {
    fn default() -> Self {
        Expected(Mutex::default())
    }
}

impl<T> Expected<T> {
    fn expect(&self, number: u32, receiver: oneshot::Sender<T>) {
        lock(&self.0).insert(number, receiver);
    }

    /// Passes an answer on. One that nothing waits for is dropped.
    fn answer(&self, number: u32, answer: T) {
        if let Some(receiver) = lock(&self.0).remove(&number) {
            let _ = receiver.send(answer);
        }
    }

    fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// Packets for the main socket, in order.
#[derive(Default)]
struct Outbox {
    last_request: u32,
    waiting: VecDeque<Vec<u8>>,
    is_closed: bool,
}

/// Reader of the main socket. The task of the connection reads, and so does a caller that polls for
/// its answer.
struct Incoming {
    reader: MessageReader,
    booted: Option<oneshot::Sender<Result<(), String>>>,
}

/// State of the main socket after it was read.
enum Drained {
    /// Nothing is left.
    Empty,
    /// There may be more.
    More,
    Closed,
    Failed(io::Error),
}

impl Connection {
    /// Connects `shared` with the isolate of a worker, and waits until it is ready. Starts a worker
    /// if there is no `spare`. The worker compiles `files` meanwhile.
    pub(crate) async fn start(
        options: &EngineOptions,
        shared: &Arc<IsolateState>,
        spare: Option<BootingWorker>,
        runtime: ConnectionRuntime,
        files: Vec<PathBuf>,
    ) -> Result<Arc<Connection>, String> {
        let (worker, later_files) = match spare {
            Some(worker) => (worker, Some(files)),
            None => (
                BootingWorker::start_isolate(options, &shared.key, files).await?,
                None,
            ),
        };
        shared.requests.reported_by(worker.report);
        let (booted, is_booted) = oneshot::channel();
        let connection = Arc::new_cyclic(|this| Connection {
            this: this.clone(),
            main: Arc::new(worker.main),
            control: worker.control,
            control_turn: Mutex::default(),
            outbox: Mutex::new(Outbox {
                waiting: worker.waiting,
                ..Outbox::default()
            }),
            full: Notify::new(),
            incoming: Mutex::new(Incoming {
                reader: MessageReader::default(),
                booted: Some(booted),
            }),
            process: worker.process,
            state: shared.clone(),
            link: OnceLock::new(),
            runtime: runtime.handle.clone(),
            next_number: AtomicU32::new(1),
            pings: Expected::default(),
            withdrawals: Expected::default(),
            open_queries: AtomicUsize::new(0),
            leaves_nothing: AtomicBool::new(false),
            reaping: Mutex::default(),
            tape: options.tape.clone(),
            verifier: options.verifier_of(shared.key.domain).cloned(),
        });
        if let Some(files) = later_files {
            // They may have changed since the spare was started.
            if let Some(verifier) = connection.verifier.as_ref() {
                connection.trust(&verifier.files());
            }
            connection.announce(files);
        }
        let link = Arc::new(CallerBridge::new(shared.clone(), options));
        // Nothing else sets it.
        let _ = connection.link.set(Arc::downgrade(&link));
        let end = End {
            connection: connection.clone(),
            alive: runtime.alive,
        };
        let limit = memory_limit(options.heap_mb);
        runtime.handle.spawn(serve(end, link, limit));
        let is_booted = tokio::time::timeout(BOOT_TIMEOUT, is_booted).await;
        let failure = match is_booted {
            Ok(Ok(Ok(()))) => return Ok(connection),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => format!(
                "the worker process ended while it started: {}",
                shared.why_it_ended()
            ),
            Err(_) => format!(
                "the worker process did not start within {} s",
                BOOT_TIMEOUT.as_secs()
            ),
        };
        connection.process.kill();
        Err(failure)
    }

    /// Returns the state of the isolate.
    pub(crate) fn state(&self) -> &Arc<IsolateState> {
        &self.state
    }

    /// Ends the isolate whatever it is doing. Everything that runs in it is lost. Only the first
    /// reason counts.
    pub(crate) fn terminate(&self, termination: Termination) {
        let why = termination.why.clone();
        if self.state.termination.set(termination).is_err() {
            return;
        }
        self.send_control(&Control::Terminate { why });
        let connection = self.this.upgrade();
        self.runtime.spawn(async move {
            if let Some(connection) = connection {
                connection.escalate().await;
            }
        });
    }

    /// Kills the process of a terminated isolate if it does not end by itself.
    async fn escalate(&self) {
        let is_gone_within =
            async |limit| tokio::time::timeout(limit, self.state.gone()).await.is_ok();
        if is_gone_within(WORKER_TIMEOUT).await {
            return;
        }
        self.process.kill();
        if !is_gone_within(NOTICE_TIMEOUT).await {
            self.state.answer_all();
            if !is_gone_within(KILL_TIMEOUT).await {
                self.state.abandon();
            }
        }
    }

    /// Returns true if no request can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.outbox).is_closed
    }

    /// Returns false if a new worker would work with other files.
    pub(crate) fn is_current(&self) -> bool {
        self.process.is_current()
    }

    /// Sends a request. `make` receives its number, and is called in the order of the requests.
    pub(crate) fn ask(&self, make: impl FnOnce(u32) -> Ask) -> u32 {
        let mut outbox = lock(&self.outbox);
        outbox.last_request += 1;
        let id = outbox.last_request;
        let packets = socket::packets_of(&ToWorker::Ask(make(id)));
        self.put(&mut outbox, packets);
        id
    }

    /// Sends an order that has no answer.
    pub(crate) fn order(&self, ask: Ask) {
        self.send(&ToWorker::Ask(ask));
    }

    /// Pings the isolate's thread.
    pub(crate) fn ping(&self, answer: oneshot::Sender<()>) {
        let number = self.number();
        self.pings.expect(number, answer);
        self.send(&ToWorker::Ping(number));
    }

    /// Takes a request back before its tool starts, if there is still time.
    pub(crate) async fn withdraw(&self, id: u32) -> Withdrawn {
        let message = Control::Withdraw { id };
        let state = self.ordered(&self.withdrawals, id, &message).await;
        // In doubt the tool has started.
        state.unwrap_or(Withdrawn::TooLate)
    }

    /// Sends an order to the control thread; returns its answer, or `None` if none comes in time.
    async fn ordered<T>(&self, answers: &Expected<T>, number: u32, order: &Control) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        answers.expect(number, answer);
        self.send_control(order);
        let answered = tokio::time::timeout(CONTROL_TIMEOUT, answered).await;
        lock(&answers.0).remove(&number);
        answered.ok()?.ok()
    }

    /// Makes the worker report that the tool of a request runs, if it does.
    pub(crate) fn ask_start(&self, id: u32) {
        self.send_control(&Control::TellStart { id });
    }

    /// Sends a message of a debugger. Waits until the control thread has read earlier ones, which
    /// it does at once, because a session cannot do without a message.
    fn debug(&self, message: &Control) {
        let _turn = lock(&self.control_turn);
        for packet in socket::packets_of(message) {
            if socket::send_packet(&self.control, &packet, SendFlags::empty()).is_err() {
                // The reader of the connection notices the end of the worker.
                return;
            }
        }
    }

    /// Reads what the worker has sent, unless another task does so now. A caller that polls for its
    /// answer calls it, so that no other thread has to wake up first. With several requests, the task
    /// of the connection runs anyway.
    pub(crate) fn look(&self) {
        if self.state.requests.has_one()
            && let Ok(mut incoming) = self.incoming.try_lock()
            && let Some(link) = self.link.get().and_then(Weak::upgrade)
        {
            // The task of the connection finds out why a socket fails.
            let _ = self.drain(&mut incoming, &link);
        }
    }

    fn number(&self) -> u32 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    fn send(&self, message: &ToWorker) {
        let packets = socket::packets_of(message);
        self.put(&mut lock(&self.outbox), packets);
    }

    /// Sends packets, or leaves them to the task if the socket is full.
    fn put(&self, outbox: &mut Outbox, packets: Vec<Vec<u8>>) {
        if outbox.is_closed {
            return;
        }
        let was_empty = outbox.waiting.is_empty();
        outbox.waiting.extend(packets);
        if was_empty && !self.flush(outbox) {
            self.full.notify_one();
        }
    }

    /// Sends waiting packets. Returns false if some are left.
    fn flush(&self, outbox: &mut Outbox) -> bool {
        socket::send_packets(&self.main, &mut outbox.waiting)
    }

    fn send_control(&self, message: &Control) {
        let _turn = lock(&self.control_turn);
        for packet in socket::packets_of(message) {
            let sent = socket::send_packet(&self.control, &packet, SendFlags::DONTWAIT);
            if !matches!(sent, Ok(true)) {
                tracing::debug!(?sent, "a worker does not read its control socket");
                return;
            }
        }
    }

    fn drain(&self, incoming: &mut Incoming, link: &Arc<CallerBridge>) -> Drained {
        for _ in 0..MAX_MESSAGES_PER_TURN {
            let read = incoming
                .reader
                .read::<FromWorker>(&self.main, RecvFlags::DONTWAIT);
            match read {
                Ok(Received::Message(message)) => self.take(message, incoming, link),
                Ok(Received::Nothing) => return Drained::Empty,
                Ok(Received::Closed) => return Drained::Closed,
                Err(error) => return Drained::Failed(error),
            }
        }
        Drained::More
    }

    fn take(&self, message: FromWorker, incoming: &mut Incoming, link: &Arc<CallerBridge>) {
        let shared = &self.state;
        match message {
            FromWorker::Booted(result) => {
                if let Some(booted) = incoming.booted.take() {
                    let _ = booted.send(result);
                }
            }
            FromWorker::Answer {
                id,
                has_started,
                answer,
            } => {
                if has_started {
                    shared.requests.note_started(id);
                }
                spin_wait::answer_sent_on(incoming.reader.sent_on());
                shared.requests.answer(id, answer);
                self.end_if_retired();
            }
            FromWorker::Started { id } => {
                shared.requests.note_started(id);
                shared.requests.tell_start(id);
            }
            FromWorker::Update { id, text } => {
                shared.requests.note_started(id);
                link.update(id, text);
            }
            FromWorker::Pong(number) => self.pings.answer(number, ()),
            FromWorker::Withdrawn { id, withdrawn } => self.withdrawals.answer(id, withdrawn),
            FromWorker::LoadTraced { id, trace } => {
                // Only loads that run are traced, so a worker cannot fill the memory.
                if shared.requests.is_open(id) {
                    link.load_traced(id, trace);
                }
            }
            FromWorker::Learned { path, digest } => {
                if let Some(verifier) = &self.verifier {
                    verifier.learn(path, digest.into());
                }
            }
            FromWorker::BuiltInsChanged { module, what } => link.built_ins_changed(module, &what),
            FromWorker::ProgramStarted { call, program } => link.program_started(call, &program),
            FromWorker::HostConnected { target } => link.host_connected(&target),
            FromWorker::Accessed { kind, what } => link.accessed(kind, &what),
            FromWorker::WithdrawQuestion { id } => link.withdraw_question(id),
            FromWorker::TellUser {
                request,
                owner,
                notice,
            } => link.tell_user(request, &owner, &notice),
            FromWorker::StartNested {
                request,
                id,
                tool,
                arguments,
            } => link.start_nested(request, id, &tool, arguments),
            FromWorker::CancelNested { id } => link.cancel_nested(id),
            FromWorker::Paint { id, lines } => link.paint(id, lines),
            FromWorker::Log {
                request,
                level,
                tool,
                message,
                context,
            } => link.log(request, level_of(level), &tool, &message, &context),
            FromWorker::PendingDone { id } => link.pending_done(id),
            FromWorker::Spans(spans) => telemetry::forward(spans),
            FromWorker::WaitsForDebugger { waits } => link.waits_for_debugger(waits),
            FromWorker::Inspected { session, message } => {
                if let Some(target) = &shared.target {
                    let kind = InspectorMsgKind::Notification;
                    let content = message;
                    target.deliver(session, InspectorMsg { kind, content });
                }
            }
            FromWorker::Recorded {
                call,
                channel,
                request,
                answer,
            } => link.recorded(call, channel.into(), &request, &answer),
            FromWorker::KeepReplay {
                channel,
                request,
                answer,
            } => {
                if let Some(tape) = &self.tape {
                    tape.keep(channel.into(), &request, &answer);
                }
            }
            FromWorker::Query(number, query) => self.answer_query(number, query, link),
            FromWorker::Ending {
                why,
                is_out_of_memory,
            } => self.terminate(Termination {
                why,
                is_out_of_memory,
            }),
            FromWorker::Ended => shared.answer_all(),
            FromWorker::NothingLeft => self.leaves_nothing.store(true, Ordering::Relaxed),
        }
    }

    fn answer_query(&self, number: u32, query: Query, link: &Arc<CallerBridge>) {
        if let Query::Permission { kind, what } = &query {
            return self.ask_permission(number, *kind, what, link);
        }
        if !query.is_awaited() {
            let reply = self.reply_to(query, link);
            return self.send_control(&Control::Reply(number, reply));
        }
        let Some(connection) = self.this.upgrade() else {
            return;
        };
        if self.open_queries.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN_QUERIES {
            self.open_queries.fetch_sub(1, Ordering::Relaxed);
            let reply = Reply::Failed("too many questions are open".to_owned());
            return self.send(&ToWorker::Reply(number, reply));
        }
        let reply = awaited_reply(query, link);
        self.runtime.spawn(async move {
            let reply = reply.await;
            connection.open_queries.fetch_sub(1, Ordering::Relaxed);
            connection.send(&ToWorker::Reply(number, reply));
        });
    }

    /// Asks the user while the isolate's thread waits. Other messages are handled meanwhile.
    fn ask_permission(
        &self,
        number: u32,
        kind: PermissionKind,
        what: &str,
        link: &Arc<CallerBridge>,
    ) {
        let Some(connection) = self.this.upgrade() else {
            return;
        };
        let answer = link.ask_permission(kind, what);
        self.runtime.spawn(async move {
            let is_granted = answer.await;
            connection.send_control(&Control::Reply(number, Reply::Flag(is_granted)));
        });
    }

    /// Returns the reply to a query for which the isolate's thread waits.
    fn reply_to(&self, query: Query, link: &CallerBridge) -> Reply {
        let text = |result| match result {
            Ok(text) => Reply::Text(text),
            Err(why) => Reply::Failed(why),
        };
        let flag = |result| match result {
            Ok(flag) => Reply::Flag(flag),
            Err(why) => Reply::Failed(why),
        };
        match query {
            Query::Session => text(link.session()),
            Query::IsIdle => flag(link.is_idle()),
            Query::HasQueuedMessages => flag(link.has_queued_messages()),
            Query::AbortAgent => flag(link.abort_agent().map(|()| true)),
            Query::AutoApprove { request } => link
                .auto_approve(request)
                .map_or(Reply::Unknown, Reply::Flag),
            Query::HasUser { request, owner } => Reply::Flag(link.has_user(request, &owner)),
            Query::EditorText { request, owner } => Reply::Text(link.editor_text(request, &owner)),
            Query::Canvas { request, owner } => Reply::Text(link.canvas(request, &owner)),
            Query::PushPending { id, label } => Reply::Flag(link.push_pending(id, &label)),
            Query::PlayReplay { channel, request } => {
                let played = self.tape.as_ref();
                match played.map(|tape| tape.play(channel.into(), &request)) {
                    None | Some(ReplayAnswer::World) => Reply::Unknown,
                    Some(ReplayAnswer::Answer(answer)) => Reply::Text(answer),
                    Some(ReplayAnswer::Nothing(why)) => Reply::Refused(why),
                }
            }
            Query::Permission { .. }
            | Query::AskUser { .. }
            | Query::Show { .. }
            | Query::NextTouch { .. }
            | Query::NextOfNested { .. } => Reply::Unknown,
        }
    }

    /// Ends a retired isolate after its last request.
    pub(crate) fn end_if_retired(&self) {
        if self.state.retired.load(Ordering::Acquire) && self.state.requests.is_idle() {
            self.send_control(&Control::Terminate {
                why: RETIRED.to_owned(),
            });
        }
    }

    /// Waits until a worker that has ended in order is reaped.
    pub(crate) async fn reaped(&self) {
        let reaping = lock(&self.reaping).take();
        if let Some(reaping) = reaping {
            // It neither panics nor is aborted before its runtime ends.
            let _ = reaping.await;
        }
    }

    fn close(&self) {
        let mut outbox = lock(&self.outbox);
        outbox.is_closed = true;
        outbox.waiting.clear();
        drop(outbox);
        self.pings.clear();
        self.withdrawals.clear();
    }

    /// Lets the isolate compile files that are loaded soon. A single one is compiled when it is loaded,
    /// which is now.
    pub(crate) fn announce(&self, files: Vec<PathBuf>) {
        if files.len() > 1 {
            self.order(Ask::Announce { files });
        }
    }

    /// Interrupts the render request `id`, if the isolate runs it now.
    pub(crate) fn interrupt_render(&self, id: u32) {
        self.send_control(&Control::InterruptRender { id });
    }

    /// Sets the files that the project's modules may load from now on.
    pub(crate) fn trust(&self, files: &VerifiedFiles) {
        if self.verifier.is_some() {
            self.send(&ToWorker::Trust(TrustedFiles::from(files)));
        }
    }

    /// Opens a session of V8's inspector.
    pub(crate) fn open_inspector(&self, session: u32) {
        self.debug(&Control::OpenInspector { session });
    }

    /// Passes a message of the debugger to a session.
    pub(crate) fn inspect(&self, session: u32, message: String) {
        self.debug(&Control::Inspect { session, message });
    }

    /// Ends a session.
    pub(crate) fn close_inspector(&self, session: u32) {
        self.debug(&Control::CloseInspector { session });
    }
}

/// Returns the reply to a query that JavaScript awaits.
fn awaited_reply(query: Query, link: &CallerBridge) -> futures::future::BoxFuture<'static, Reply> {
    match query {
        Query::AskUser {
            request,
            owner,
            id,
            question,
        } => {
            let asked = link.ask_user(request, &owner, id, question);
            Box::pin(async move { asked.await.map_or_else(Reply::Failed, Reply::Text) })
        }
        Query::Show { request, owner, id } => {
            let shown = link.show(request, &owner, id);
            Box::pin(async move {
                shown
                    .await
                    .map_or_else(Reply::Failed, |()| Reply::Flag(true))
            })
        }
        Query::NextTouch { id } => {
            let touch = link.next_touch(id);
            Box::pin(async move { Reply::Text(touch.await) })
        }
        Query::NextOfNested { id } => {
            let event = link.next_of_nested(id);
            Box::pin(async move { Reply::Text(event.await) })
        }
        _ => Box::pin(async { Reply::Unknown }),
    }
}

/// Returns the limit of a worker's memory. V8 limits its heap, and the engine counts buffers. The
/// rest is for code, for the memory of Deno's own parts, and for one text that V8 makes before it
/// notices its limit (1 GB at most).
fn memory_limit(heap_mb: u32) -> u64 {
    const BASE_MB: u64 = 1536;
    (2 * u64::from(heap_mb) + BASE_MB) << 20
}

/// The end of a connection: when the task of it ends, for any reason, the process is killed and the
/// requests are answered.
struct End {
    connection: Arc<Connection>,
    alive: Option<mpsc::Sender<()>>,
}

impl Drop for End {
    fn drop(&mut self) {
        // One that has ended in order is only to be reaped.
        if lock(&self.connection.reaping).is_none() {
            self.connection.process.kill();
        }
        self.connection.close();
        self.connection
            .state
            .terminated_because("its event loop has ended");
        self.connection.state.abandon();
        // A start that still waits fails now.
        lock(&self.connection.incoming).booted = None;
    }
}

/// Reads the main socket until the worker ends.
async fn serve(end: End, link: Arc<CallerBridge>, memory_limit: u64) {
    let connection = &end.connection;
    let failure = match socket::watch(connection.main.clone(), Interest::READABLE) {
        Ok(main) => {
            let exceeded = connection.process.limit_exceeded(memory_limit);
            tokio::select! {
                biased;
                failure = read_all(&main, connection, &link) => failure,
                why = exceeded => {
                    connection.state.terminated_because_of_memory(why);
                    connection.process.kill();
                    None
                }
            }
        }
        Err(error) => Some(error),
    };
    connection.close();
    if let Some(error) = failure {
        connection
            .state
            .terminated_because(&format!("its worker process broke the protocol: {error}"));
        connection.process.kill();
    }
    let process = connection.process.clone();
    // No program is to be found below it, and no folder is to be removed after it.
    if connection.leaves_nothing.load(Ordering::Relaxed) && process.tmp().is_none() {
        let reaping = connection.runtime.spawn(reap(process, end.alive.clone()));
        *lock(&connection.reaping) = Some(reaping);
        return;
    }
    // What a tool left behind must not outlive the isolate.
    let how = describe_end(process).await;
    connection
        .state
        .terminated_because(&format!("its worker process {how}"));
}

/// Waits for the end of a process that has closed its socket. Returns how it ended, as a part of a
/// sentence.
pub(crate) async fn describe_end(process: Arc<dyn WorkerProcess>) -> String {
    let ended = tokio::task::spawn_blocking(move || process.wait());
    match tokio::time::timeout(END_TIMEOUT, ended).await {
        Ok(Ok(how)) => how,
        Ok(Err(_)) | Err(_) => "has closed its connection".to_owned(),
    }
}

/// Waits for the end of a process that has closed its socket, and kills one that goes on. Keeps the
/// runtime `alive` meanwhile.
async fn reap(process: Arc<dyn WorkerProcess>, alive: Option<mpsc::Sender<()>>) {
    let ending = process.clone();
    let ended = tokio::task::spawn_blocking(move || ending.wait());
    if tokio::time::timeout(END_TIMEOUT, ended).await.is_err() {
        process.kill();
    }
    drop(alive);
}

/// Sends the packets of the outbox as the worker takes earlier ones.
async fn send_waiting(connection: &Connection) -> io::Result<()> {
    // With one registration for both directions, every packet that the worker takes would wake the
    // thread of the callers.
    let writer = Arc::new(connection.main.try_clone()?);
    let writer = socket::watch(writer, Interest::WRITABLE)?;
    loop {
        let mut ready = writer.writable().await?;
        if connection.flush(&mut lock(&connection.outbox)) {
            return Ok(());
        }
        ready.clear_ready();
    }
}

/// Reads and writes until the worker closes the socket. Returns the error that ended it.
async fn read_all(
    main: &AsyncFd<Arc<OwnedFd>>,
    connection: &Connection,
    link: &Arc<CallerBridge>,
) -> Option<io::Error> {
    loop {
        let is_full = !lock(&connection.outbox).waiting.is_empty();
        let mut ready = tokio::select! {
            ready = main.readable() => match ready {
                Ok(ready) => ready,
                Err(error) => return Some(error),
            },
            sent = send_waiting(connection), if is_full => match sent {
                Ok(()) => continue,
                Err(error) => return Some(error),
            },
            () = connection.full.notified(), if !is_full => continue,
        };
        let drained = connection.drain(&mut lock(&connection.incoming), link);
        match drained {
            Drained::Empty => ready.clear_ready(),
            Drained::More => tokio::task::yield_now().await,
            Drained::Closed => return None,
            Drained::Failed(error) => return Some(error),
        }
    }
}
