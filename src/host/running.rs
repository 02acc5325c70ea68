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

use super::pace::Pace;
use super::stopper::Stopper;
use crate::error::{Error, ErrorKind};
use crate::tool::{Event, Outcome, queue};

/// A running call. Dropping it cancels the call.
///
/// ```ignore
#[doc = include_str!("../../tests/it/examples/call.rs")]
/// ```
pub struct RunningCall {
    /// The events of the call, in order. They end with the call.
    pub events: Events,
    stopper: Stopper,
    driver: Arc<Driver>,
    pace: Arc<Pace>,
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
pub(crate) struct OutcomeOnly {
    /// `None` once the call has ended.
    running: Option<Running>,
    stopper: Stopper,
    pace: Arc<Pace>,
    runtime: Handle,
}

struct Driver {
    stage: Mutex<Stage>,
    runtime: Handle,
}

enum Stage {
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
        stopper: Stopper,
        pace: Arc<Pace>,
        wants_task: bool,
    ) -> RunningCall {
        let call = RunningCall {
            events: Events(events),
            stopper,
            driver: Arc::new(Driver {
                stage: Mutex::new(Stage::Starting { was_woken: false }),
                runtime: Handle::current(),
            }),
            pace,
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
    pub fn stopper(&self) -> Stopper {
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
        let stage = std::mem::replace(&mut *self.driver.stage(), Stage::Taken);
        let ended = match stage {
            Stage::Ended(ended) => ended,
            Stage::Waiting(running) => {
                let (stopper, pace) = (self.stopper.clone(), self.pace.clone());
                OutcomeOnly::new(running, stopper, pace).await
            }
            Stage::OnTask(mut task) => {
                let ended = (&mut task).await;
                ended.unwrap_or_else(|error| {
                    Err(internal(format!("the call's task failed: {error}")))
                })
            }
            Stage::Starting { .. } | Stage::Taken => Err(internal("the call was lost".into())),
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

impl OutcomeOnly {
    /// Creates a call that runs when it is polled, and that `stopper` ends. Needs a runtime.
    pub(super) fn new(running: Running, stopper: Stopper, pace: Arc<Pace>) -> OutcomeOnly {
        OutcomeOnly {
            running: Some(running),
            stopper,
            pace,
            runtime: Handle::current(),
        }
    }
}

impl Future for OutcomeOnly {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        let OutcomeOnly { running, pace, .. } = &mut *self;
        let Some(call) = running else {
            return Poll::Pending;
        };
        let mut polled = call.as_mut().poll(cx);
        if polled.is_pending() {
            polled = pace.wait(|| call.as_mut().poll(cx));
        }
        if polled.is_ready() {
            *running = None;
        }
        polled
    }
}

impl Drop for OutcomeOnly {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.stopper.cancel();
            self.runtime.spawn(running);
        }
    }
}

impl Driver {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, mut running: Running, wants_task: bool) {
        if wants_task {
            *self.stage() = Stage::OnTask(self.runtime.spawn(running));
            return;
        }
        let waker = Waker::from(self.clone());
        let polled = running.as_mut().poll(&mut Context::from_waker(&waker));
        let mut stage = self.stage();
        *stage = match (polled, &*stage) {
            (Poll::Ready(ended), _) => Stage::Ended(ended),
            (Poll::Pending, Stage::Starting { was_woken: true }) => {
                Stage::OnTask(self.runtime.spawn(running))
            }
            (Poll::Pending, _) => Stage::Waiting(running),
        };
    }

    fn put_on_task(&self) {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Taken) {
            Stage::Waiting(running) => *stage = Stage::OnTask(self.runtime.spawn(running)),
            Stage::Starting { .. } => *stage = Stage::Starting { was_woken: true },
            other => *stage = other,
        }
    }
}

impl Wake for Driver {
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
