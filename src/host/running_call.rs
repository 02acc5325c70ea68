//! Running calls: the stream of their events, and the tasks that poll them.
//!
//! A call starts at once, on the thread of its caller. If the caller then only awaits the outcome,
//! the call runs inside the caller's task. Waking a second task, most often on another core, would
//! cost more than a small tool does. In all other cases the call is spawned, because it must end
//! even if it is not polled.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::call_log::CallRecord;
use haft_engine::CallSpin;
use haft_tool::{Cancellation, Event, Outcome, queue};
use haft_tool::{Error, ErrorKind};

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
pub(super) type CallFuture = Pin<Box<dyn Future<Output = Ended> + Send>>;

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
