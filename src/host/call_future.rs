//! Running calls, and the tasks that poll them.
//!
//! A call starts at once, on the thread of its caller. If the caller then only awaits the outcome,
//! the call runs inside the caller's task. Waking a second task, most often on another core, would
//! cost more than a small tool does. In all other cases the call is spawned, because it must end
//! even if it is not polled.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::Stream;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cancel_handle::CancelHandle;
use super::spin_wait::CallSpin;
use crate::error::{Error, ErrorKind};
use crate::tool::{Event, Outcome, queue};

/// A running call. Dropping it cancels the call.
///
/// ```no_run,standalone_crate
#[doc = include_str!("../../tests/it/examples/call.rs")]
/// ```
pub struct RunningCall {
    /// The events of the call, in order. They end with the call.
    pub events: Events,
    stopper: CancelHandle,
    driver: Arc<CallDriver>,
    call_spin: Arc<CallSpin>,
    is_detached: bool,
}

/// The events of a call, in order.
#[derive(Debug)]
pub struct Events(queue::Receiver<Event>);

impl Events {
    /// Returns the next event as soon as it exists; `None` when the call has ended.
    pub async fn recv(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// Returns the next event, if one waits.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.0.try_recv()
    }

    /// Returns the number of waiting events.
    pub(crate) fn waiting(&self) -> usize {
        self.0.len()
    }
}

type Ended = Result<Outcome, Error>;
pub(super) type Running = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// A call of which only the outcome is used. The task that polls it runs the call. Dropping it
/// cancels the call, which is then spawned so that it ends by itself.
pub(crate) struct InlineCall {
    /// `None` once the call has ended.
    running: Option<Running>,
    stopper: CancelHandle,
    call_spin: Arc<CallSpin>,
    runtime: Handle,
}

struct CallDriver {
    stage: Mutex<DriveState>,
    runtime: Handle,
}

enum DriveState {
    /// The call is polled for the first time, and may already have been woken.
    Starting { was_woken: bool },
    /// The call waits. Its next wake spawns it.
    Waiting(Running),
    /// The call is spawned.
    OnTask(JoinHandle<Ended>),
    /// The call ended before its outcome was awaited.
    Ended(Ended),
    /// The caller owns the call.
    Taken,
}

impl RunningCall {
    /// Starts `running`, which `stopper` ends and which reports to `events`. If `wants_task` is
    /// true, the call is spawned from the beginning.
    pub(super) fn start(
        running: Running,
        events: queue::Receiver<Event>,
        stopper: CancelHandle,
        call_spin: Arc<CallSpin>,
        wants_task: bool,
    ) -> RunningCall {
        let call = RunningCall {
            events: Events(events),
            stopper,
            driver: Arc::new(CallDriver {
                stage: Mutex::new(DriveState::Starting { was_woken: false }),
                runtime: Handle::current(),
            }),
            call_spin,
            is_detached: false,
        };
        call.driver.start(running, wants_task);
        call
    }

    /// Returns a token that cancels the call. After its grace period the call is killed.
    pub fn cancel_token(&self) -> CancellationToken {
        // The owner of the token may use it while the outcome is not awaited.
        self.driver.put_on_task();
        self.stopper.token()
    }

    /// Returns a handle that cancels or kills the call, even while its outcome is awaited.
    pub fn stopper(&self) -> CancelHandle {
        self.driver.put_on_task();
        self.stopper.clone()
    }

    /// Takes the events, for a receiver apart from the outcome. No events remain here.
    pub(crate) fn take_events(&mut self) -> Events {
        std::mem::replace(&mut self.events, Events(queue::Receiver::ended()))
    }

    /// Returns the next event; `None` when the call has ended.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.driver.put_on_task();
        self.events.recv().await
    }

    /// Waits for the end of the call.
    ///
    /// # Errors
    /// When the tool could not be run. A stopped call is an outcome that says so.
    pub async fn outcome(mut self) -> Ended {
        let stage = std::mem::replace(&mut *self.driver.stage(), DriveState::Taken);
        let ended = match stage {
            DriveState::Ended(ended) => ended,
            DriveState::Waiting(running) => {
                let (stopper, call_spin) = (self.stopper.clone(), self.call_spin.clone());
                InlineCall::new(running, stopper, call_spin).await
            }
            DriveState::OnTask(mut task) => {
                let ended = (&mut task).await;
                ended.unwrap_or_else(|error| {
                    Err(internal(format!("the call's task failed: {error}")))
                })
            }
            DriveState::Starting { .. } | DriveState::Taken => {
                Err(internal("the call was lost".into()))
            }
        };
        self.is_detached = true;
        ended
    }
}

/// Stream of the events, as [`RunningCall::next_event`] returns them.
impl Stream for RunningCall {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.driver.put_on_task();
        self.events.0.poll_recv(cx)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if !self.is_detached {
            self.stopper.cancel();
        }
    }
}

impl InlineCall {
    /// Creates a call that runs when it is polled, and that `stopper` ends. Needs a runtime.
    pub(super) fn new(
        running: Running,
        stopper: CancelHandle,
        call_spin: Arc<CallSpin>,
    ) -> InlineCall {
        InlineCall {
            running: Some(running),
            stopper,
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
        if polled.is_pending() {
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
            self.stopper.cancel();
            self.runtime.spawn(running);
        }
    }
}

impl CallDriver {
    fn stage(&self) -> MutexGuard<'_, DriveState> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, mut running: Running, wants_task: bool) {
        if wants_task {
            *self.stage() = DriveState::OnTask(self.runtime.spawn(running));
            return;
        }
        let waker = Waker::from(self.clone());
        let polled = running.as_mut().poll(&mut Context::from_waker(&waker));
        let mut stage = self.stage();
        *stage = match (polled, &*stage) {
            (Poll::Ready(ended), _) => DriveState::Ended(ended),
            (Poll::Pending, DriveState::Starting { was_woken: true }) => {
                DriveState::OnTask(self.runtime.spawn(running))
            }
            (Poll::Pending, _) => DriveState::Waiting(running),
        };
    }

    fn put_on_task(&self) {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, DriveState::Taken) {
            DriveState::Waiting(running) => {
                *stage = DriveState::OnTask(self.runtime.spawn(running))
            }
            DriveState::Starting { .. } => *stage = DriveState::Starting { was_woken: true },
            other => *stage = other,
        }
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

fn internal(text: String) -> Error {
    Error::new(ErrorKind::Internal, text)
}
