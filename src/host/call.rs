//! Calls: a call is logged, gets its tool, and runs to its end. [`RunningCall`] is the call as its caller
//! sees it.
//!
//! A call starts at once, on the thread of its caller. If the caller then only awaits the outcome,
//! the call runs inside the caller's task. Waking a second task, most often on another core, would
//! cost more than a small tool does. In all other cases the call is spawned, because it must end
//! even if it is not polled.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::Host;
use super::call_log::{CallEntry, CallRecord, defect, shut_down};
use super::nested::PartsOfCall;
use super::reach::ReachableTool;
use super::span::traced;
use crate::execute::{CallPolicy, execute};
use crate::family::approvals_of;
use crate::family::exec::ikigai;
use crate::registry::Entry;
use haft_engine::CallSpin;
use haft_tool::{Block, Error, ErrorKind, LateGrant, Tier};
use haft_tool::{
    Call, CallTrace, Cancellation, Event, Family, Level, Outcome, Stopped, Test, Tool,
    TraceContext, queue,
};

impl Host {
    /// Starts a call. `timeout` overrides the configured one.
    pub fn call(&self, call: Call, timeout: Option<Duration>) -> RunningCall {
        let cancellation = Cancellation::default();
        let entry = CallEntry::begin(self, &call, &cancellation);
        self.start(call, timeout, None, entry)
    }

    /// Starts a call like [`Host::call`], unless the same client runs a call with the same id.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it does.
    pub(crate) fn call_with_free_id(
        &self,
        call: Call,
        timeout: Option<Duration>,
    ) -> Result<RunningCall, Error> {
        let cancellation = Cancellation::default();
        let entry = CallEntry::begin_if_free(self, &call, &cancellation)?;
        Ok(self.start(call, timeout, None, entry))
    }

    /// Makes a call of which only the outcome is used. It starts when it is first polled, and
    /// `cancellation` ends it. `tool` is the tool, if the caller has found it in the catalog. The
    /// handle's own tools come first all the same.
    pub(crate) fn outcome_of(
        &self,
        call: Call,
        tool: Option<ReachableTool>,
        cancellation: Cancellation,
    ) -> InlineCall {
        let tool = self.handle_tool(&call.tool).or(tool);
        let entry = CallEntry::begin(self, &call, &cancellation);
        let call_spin = self.spin_for(tool.as_deref());
        let running = self.run_logged(call, None, tool, entry, queue::unheard());
        InlineCall::new(running, cancellation, call_spin)
    }

    /// Returns the spin-wait for a call of that tool. `None` for a tool whose answer comes through this
    /// thread's own event loop, which would stand still meanwhile.
    fn spin_for(&self, tool: Option<&Entry>) -> Option<Arc<CallSpin>> {
        let pays = tool.is_none_or(|tool| tool.runner.has_thread());
        pays.then(|| self.inner.call_spin.clone())
    }

    /// Starts `test`, one of the tests of `tool`, under the same rules as a call of it.
    pub fn test(&self, tool: &Entry, test: &Test) -> RunningCall {
        let runs = self.reach_test(tool, test);
        let call = Call {
            id: test.name.clone(),
            tool: tool.tool.name.clone(),
            arguments: RawValue::NULL.to_owned(),
        };
        let entry = CallEntry::begin(self, &call, &Cancellation::default());
        self.start(call, None, runs, entry)
    }

    /// Starts a logged call. `tool` is what runs, if it is not the tool of that name.
    pub(super) fn start(
        &self,
        call: Call,
        timeout: Option<Duration>,
        tool: Option<ReachableTool>,
        entry: CallEntry,
    ) -> RunningCall {
        let (sender, events) = queue::channel();
        let tool = tool.or_else(|| self.known_entry(&call.tool));
        // A deadline must hold even if the call is not polled, and a search for tools takes time.
        let wants_task = match &tool {
            Some(tool) => timeout.or_else(|| self.usual_timeout(tool)).is_some(),
            None => true,
        };
        let record = entry.call.clone();
        let call_spin = self.spin_for(tool.as_deref());
        let running = self.run_logged(call, timeout, tool, entry, sender);
        RunningCall::start(running, events, record, call_spin, wants_task)
    }

    /// Returns the tool of that name, if it is known without waiting.
    pub(super) fn known_entry(&self, name: &str) -> Option<ReachableTool> {
        if let Some(own) = self.handle_tool(name) {
            return Some(own);
        }
        self.reach(self.known_catalog()?.find(name)?)
    }

    /// Returns the timeout that calls of that tool have without one of their own. What a project
    /// declares for its tools only shortens it.
    fn usual_timeout(&self, tool: &Entry) -> Option<Duration> {
        let level = tool.tool.source.level;
        let own = tool.runner.timeout();
        let limit = self.inner.config.limits_of(level).call_timeout;
        match level {
            Level::Project => own.into_iter().chain(limit).min(),
            Level::User | Level::Host => own.or(limit),
        }
    }

    /// Returns the shorter one of the timeout that calls of that tool have and another one.
    pub(crate) fn timeout_within(&self, tool: &str, other: Option<Duration>) -> Option<Duration> {
        let tool = self.known_entry(tool);
        let usual = tool.and_then(|tool| self.usual_timeout(&tool));
        usual.into_iter().chain(other).min()
    }

    /// Returns the future of a logged call, which is not polled yet.
    fn run_logged(
        &self,
        call: Call,
        timeout: Option<Duration>,
        tool: Option<ReachableTool>,
        entry: CallEntry,
        events: queue::Sender<Event>,
    ) -> CallFuture {
        let spinning = self.inner.call_spin.begin();
        let host = self.clone();
        let running = async move {
            let (_spinning, _events) = (spinning, events.end_on_drop());
            let (record, trace) = (entry.call.clone(), entry.trace());
            let span = entry.span().or_else(|| host.caller_span()).cloned();
            let cancellation = record.cancellation();
            let marks = CallMarks {
                trace: trace.clone(),
                span: span.clone(),
            };
            let running = host.run(call, tool, timeout, cancellation, events, marks);
            // Pinned first, so that wrapping it moves a pointer and not the whole future.
            let running = pin!(traced(trace, span, running));
            // A panic of a call must not unwind into the embedding program.
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            let mut ended = ended.unwrap_or_else(|_| Err(defect()));
            if cancellation.reason() == Some(Stopped::HostShutdown) {
                ended = by_shutdown(ended);
            }
            entry.end(&ended);
            ended
        };
        Box::pin(running)
    }

    /// Finds the tool if necessary, and runs it. `cancellation` ends it.
    async fn run(
        &self,
        call: Call,
        tool: Option<ReachableTool>,
        timeout: Option<Duration>,
        cancellation: &Cancellation,
        events: queue::Sender<Event>,
        marks: CallMarks,
    ) -> Result<Outcome, Error> {
        // Boxed, because most calls do not need the room of this future.
        let tool = match tool {
            Some(tool) => Some(Ok(tool)),
            None => Box::pin(self.entry_unless(&call.tool, cancellation)).await,
        };
        let tool = match tool {
            // A host that has ended must not start calls, because it would not end them.
            Some(Ok(_)) if self.inner.closing.is_cancelled() => Some(Err(shut_down())),
            Some(Ok(_)) if self.refuses_new_calls() => Some(Err(drained())),
            Some(Ok(tool)) => prepared(tool, cancellation).await.map(Ok),
            other => other,
        };
        let Some(tool) = tool else {
            let why = cancellation.reason();
            return Ok(Outcome::not_started(why.unwrap_or(Stopped::Cancelled)));
        };
        match tool {
            Ok(tool) if self.options.is_queueing && tool.tool.source.family != Family::Remote => {
                Err(not_queued(&call.tool))
            }
            Ok(tool) => {
                self.run_found(call, tool, timeout, cancellation, events, marks)
                    .await
            }
            Err(error) if Box::pin(self.has_departed(&call.tool, &error)).await => {
                Ok(ikigai::no_longer_there())
            }
            Err(error) => Err(error),
        }
    }

    /// Runs a tool. If the user grants it an access that it cannot use any more, and it only reads, it
    /// runs once more with the access.
    async fn run_found(
        &self,
        mut call: Call,
        mut tool: ReachableTool,
        timeout: Option<Duration>,
        cancellation: &Cancellation,
        events: queue::Sender<Event>,
        marks: CallMarks,
    ) -> Result<Outcome, Error> {
        let mut is_first = true;
        loop {
            if let Some(trace) = &marks.trace {
                let bounds = tool.runner.bounds();
                trace.runs(&tool.tool, self.grant_of(&tool.tool), bounds);
            }
            let ui = self.user_interface();
            // Without a user nothing is granted.
            let late_grant = ui.as_ref().map(|_| Arc::<LateGrant>::default());
            let is_repeatable = is_first && ui.is_some() && tool.tool.approval == Tier::Read;
            let again = is_repeatable.then(|| call.clone());
            let terms = CallPolicy {
                scope: self.options.scope.clone(),
                trace: marks.trace.clone(),
                recording: self.options.recording.clone(),
                span: marks.span.clone(),
                timeout: timeout.or_else(|| self.usual_timeout(&tool)),
                cancellation: cancellation.clone(),
                policy: self.approval_policy(),
                approver: self.options.approver.clone(),
                approvals: &|| {
                    let config = &self.inner.config;
                    approvals_of(config, &tool.resolved_path, &tool.tool)
                },
                ui,
                mcp_client: self.options.mcp_client.clone(),
                is_queued: self.options.is_queueing,
                log: self.options.log.clone(),
                nested: &|call, updates| {
                    let makes_calls = tool.runner.makes_calls();
                    makes_calls
                        .then(|| {
                            PartsOfCall::of(self, &call.id, tool.entry(), cancellation, updates)
                        })
                        .flatten()
                },
                spill: &self.inner.spill,
                text_limit: self.options.text_limit,
                late_grant: late_grant.clone(),
            };
            let ended = execute(&tool.tool, &*tool.runner, call, terms, events.clone()).await;
            let Some(access) = late_grant.as_ref().and_then(|it| it.access()) else {
                return ended;
            };
            // The next call has the access, however soon it comes.
            Box::pin(self.refresh()).await;
            if let Some(next) = again.filter(|_| cancellation.reason().is_none())
                && let Ok(renewed) = Box::pin(self.entry(&next.tool)).await
            {
                (call, tool, is_first) = (next, renewed, false);
                continue;
            }
            return with_late_grant(ended, access);
        }
    }

    /// Returns true if the host is draining, and the handle's calls are not parts of running ones.
    fn refuses_new_calls(&self) -> bool {
        self.inner.draining.is_cancelled() && self.options.origin.is_root()
    }

    /// Checks a call's arguments without running anything.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTool`] or [`ErrorKind::BadArguments`] with every problem in the text.
    pub async fn validate(&self, call: &Call) -> Result<(), Error> {
        self.entry(&call.tool).await?.runner.check(call).await
    }

    /// Stores the hash of the grant by which the project's tools were checked.
    pub(super) fn judged_by(&self, grant: Option<String>) {
        *self.inner.grant.lock() = grant.map(Arc::from);
    }

    /// Returns the grant under which `tool` runs; `None` for a tool that needs none.
    fn grant_of(&self, tool: &Tool) -> Option<Arc<str>> {
        if tool.source.level != Level::Project {
            return None;
        }
        if self.inner.config.trust_project {
            return Some("all tools of the project are trusted".into());
        }
        self.inner.grant.lock().clone()
    }
}

/// Record and span of a call.
struct CallMarks {
    trace: Option<Arc<CallTrace>>,
    span: Option<TraceContext>,
}

/// Adds to a result that the user has granted an access which the call could not use.
fn with_late_grant(ended: Result<Outcome, Error>, access: &str) -> Result<Outcome, Error> {
    let text = format!(
        "the user has just granted {access}. This call could not use it any more: call the tool \
         again"
    );
    match ended {
        Ok(mut outcome) => {
            outcome.content.push(Block::text(format!("[haft: {text}]")));
            Ok(outcome)
        }
        Err(error) => Err(error.with_hint(text)),
    }
}

fn not_queued(tool: &str) -> Error {
    let text = format!("calls of `{tool}` cannot be queued: it is not a tool of other hosts");
    let hint =
        "`remote` in the configuration names the NATS server of hosts that take queued calls";
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

/// Returns the tool once it can be called; `None` if the call is cancelled before.
async fn prepared(tool: ReachableTool, cancellation: &Cancellation) -> Option<ReachableTool> {
    let is_ready = match tool.runner.prepare_runner() {
        None => true,
        Some(prepare_runner) => tokio::select! {
            biased;
            () = cancellation.requested() => false,
            () = prepare_runner => true,
        },
    };
    is_ready.then_some(tool)
}

/// Returns the error for a call that came after the server began to end. It can be made elsewhere.
fn drained() -> Error {
    let text = "the server is ending and takes no new calls";
    Error::new(ErrorKind::Stopped(Stopped::HostShutdown), text)
}

/// Replaces the reason of a stopped call by the shutdown of the host.
fn by_shutdown(mut ended: Result<Outcome, Error>) -> Result<Outcome, Error> {
    match &mut ended {
        Ok(outcome) => {
            let stopped = &mut outcome.stopped;
            *stopped = stopped.map(|why| why.max(Stopped::HostShutdown));
            ended
        }
        Err(error) if error.kind() == ErrorKind::Stopped(Stopped::Cancelled) => Err(Error::new(
            ErrorKind::Stopped(Stopped::HostShutdown),
            error.message(),
        )),
        Err(_) => ended,
    }
}

/// A running call: a stream of events, the last of which is [`Event::Finished`] with the outcome.
/// Dropping it cancels the call.
///
/// ```no_run,standalone_crate
#[doc = include_str!("../../tests/it/examples/call.rs")]
/// ```
pub struct RunningCall {
    events: queue::Receiver<Event>,
    record: Arc<CallRecord>,
    driver: Arc<CallDriver>,
    call_spin: Option<Arc<CallSpin>>,
    has_ended: bool,
}

type Ended = Result<Outcome, Error>;
type CallFuture = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// A call of which only the outcome is used. The task that polls it runs the call. Dropping it
/// cancels the call, which is then spawned so that it ends by itself.
pub(crate) struct InlineCall {
    /// `None` once the call has ended.
    running: Option<CallFuture>,
    cancellation: Cancellation,
    call_spin: Option<Arc<CallSpin>>,
    runtime: Handle,
}

struct CallDriver {
    state: Mutex<DriveState>,
    runtime: Handle,
}

enum DriveState {
    /// The call is polled for the first time, and may already have been woken.
    Starting { was_woken: bool },
    /// The call waits. Its next wake spawns it.
    Waiting(CallFuture),
    /// The call is spawned.
    OnTask(JoinHandle<Ended>),
    /// The call ended before its end was awaited.
    Ended(Ended),
    /// The caller has the outcome, or owns the call.
    Taken,
}

impl RunningCall {
    /// Starts `running`, which reports to `events`. If `wants_task` is true, the call is spawned
    /// from the beginning.
    pub(super) fn start(
        running: CallFuture,
        events: queue::Receiver<Event>,
        record: Arc<CallRecord>,
        call_spin: Option<Arc<CallSpin>>,
        wants_task: bool,
    ) -> RunningCall {
        let call = RunningCall {
            events,
            record,
            driver: Arc::new(CallDriver {
                state: Mutex::new(DriveState::Starting { was_woken: false }),
                runtime: Handle::current(),
            }),
            call_spin,
            has_ended: false,
        };
        call.driver.start(running, wants_task);
        call
    }

    /// Returns a handle that cancels or kills the call, also while its outcome is awaited.
    pub fn cancellation(&self) -> Cancellation {
        // The owner of the handle may use it while the call is not polled.
        self.driver.put_on_task();
        self.record.cancellation().clone()
    }

    /// Waits for the next event. [`Event::Finished`] is the last one; after it comes only an error
    /// that says so. Cancel safe.
    pub async fn next_event(&mut self) -> Event {
        let event = self.next().await;
        event.unwrap_or_else(|| Event::Finished(Err(was_read())))
    }

    /// Waits for the end of the call, and skips the events before it.
    ///
    /// # Errors
    /// When the tool could not be run, or [`Event::Finished`] was read before. A stopped call is an
    /// outcome that says so.
    pub async fn outcome(mut self) -> Ended {
        let state = std::mem::replace(&mut *self.driver.state.lock(), DriveState::Taken);
        let ended = match state {
            DriveState::Ended(ended) => ended,
            DriveState::Waiting(running) => {
                let cancellation = self.record.cancellation().clone();
                InlineCall::new(running, cancellation, self.call_spin.clone()).await
            }
            DriveState::OnTask(mut task) => joined((&mut task).await),
            DriveState::Starting { .. } | DriveState::Taken => Err(was_read()),
        };
        self.has_ended = true;
        ended
    }

    /// Returns the number of events that wait to be read, without [`Event::Finished`].
    pub(crate) fn waiting(&self) -> usize {
        self.events.waiting()
    }

    /// Returns the call in the log of the host.
    pub(crate) fn record(&self) -> &Arc<CallRecord> {
        &self.record
    }
}

/// Stream of the events, as [`RunningCall::next_event`] returns them. It ends after
/// [`Event::Finished`].
impl Stream for RunningCall {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.driver.put_on_task();
        if let Some(event) = ready!(self.events.poll_recv(cx)) {
            if let Event::Update(update) = &event {
                self.record.set_update(update);
            }
            return Poll::Ready(Some(event));
        }
        // The queue is closed: the call ends now.
        let ended = ready!(self.driver.poll_end(cx));
        self.has_ended = true;
        Poll::Ready(ended.map(Event::Finished))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if !self.has_ended {
            self.record.cancellation().cancel();
        }
    }
}

impl InlineCall {
    /// Creates a call that runs when it is polled, and that `cancellation` ends. Needs a runtime.
    pub(super) fn new(
        running: CallFuture,
        cancellation: Cancellation,
        call_spin: Option<Arc<CallSpin>>,
    ) -> InlineCall {
        InlineCall {
            running: Some(running),
            cancellation,
            call_spin,
            runtime: Handle::current(),
        }
    }
}

impl Future for InlineCall {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let InlineCall {
            running, call_spin, ..
        } = &mut *self;
        let Some(call) = running else {
            return Poll::Pending;
        };
        let mut polled = call.as_mut().poll(cx);
        if polled.is_pending()
            && let Some(call_spin) = call_spin
        {
            polled = call_spin.wait(|| call.as_mut().poll(cx));
        }
        if polled.is_ready() {
            *running = None;
        }
        polled
    }
}

impl Drop for InlineCall {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.cancellation.cancel();
            self.runtime.spawn(running);
        }
    }
}

impl CallDriver {
    fn start(self: &Arc<Self>, mut running: CallFuture, wants_task: bool) {
        if wants_task {
            *self.state.lock() = DriveState::OnTask(self.runtime.spawn(running));
            return;
        }
        let waker = Waker::from(self.clone());
        let polled = running.as_mut().poll(&mut Context::from_waker(&waker));
        let mut state = self.state.lock();
        *state = match (polled, &*state) {
            (Poll::Ready(ended), _) => DriveState::Ended(ended),
            (Poll::Pending, DriveState::Starting { was_woken: true }) => {
                DriveState::OnTask(self.runtime.spawn(running))
            }
            (Poll::Pending, _) => DriveState::Waiting(running),
        };
    }

    fn put_on_task(&self) {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, DriveState::Taken) {
            DriveState::Waiting(running) => {
                *state = DriveState::OnTask(self.runtime.spawn(running))
            }
            DriveState::Starting { .. } => *state = DriveState::Starting { was_woken: true },
            other => *state = other,
        }
    }

    /// Polls for the end of a call that has a task; `None` if it was taken before.
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<Option<Ended>> {
        let mut state = self.state.lock();
        let ended = match std::mem::replace(&mut *state, DriveState::Taken) {
            DriveState::OnTask(mut task) => match Pin::new(&mut task).poll(cx) {
                Poll::Ready(ended) => Some(joined(ended)),
                Poll::Pending => {
                    *state = DriveState::OnTask(task);
                    return Poll::Pending;
                }
            },
            DriveState::Ended(ended) => Some(ended),
            DriveState::Starting { .. } | DriveState::Waiting(_) | DriveState::Taken => None,
        };
        Poll::Ready(ended)
    }
}

impl Wake for CallDriver {
    fn wake(self: Arc<Self>) {
        self.put_on_task();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.put_on_task();
    }
}

/// Returns the outcome of a call's task.
fn joined(ended: Result<Ended, JoinError>) -> Ended {
    ended.unwrap_or_else(|error| Err(internal(format!("the call's task failed: {error}"))))
}

fn was_read() -> Error {
    internal("the outcome of the call was read before".into())
}

fn internal(text: String) -> Error {
    Error::new(ErrorKind::Internal, text)
}
