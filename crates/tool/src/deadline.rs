//! Deadline of a call, and the sender of the call's progress, which pauses it while the user is asked.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{CallRecording, Event, PermissionKind, queue};

/// Pausable deadline of one call.
#[derive(Debug)]
pub struct CallDeadline {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// The deadline. `None` while it is paused, and if it is too far in the future to represent.
    until: Option<Instant>,
    /// The remaining time while the deadline is paused.
    left: Option<Duration>,
    /// Number of questions that are not answered yet.
    questions: u32,
}

impl CallDeadline {
    /// Starts a deadline `timeout` from now.
    pub fn start(timeout: Duration) -> CallDeadline {
        CallDeadline {
            state: Mutex::new(State {
                until: Instant::now().checked_add(timeout),
                left: None,
                questions: 0,
            }),
            changed: Notify::new(),
        }
    }

    /// Waits until the deadline has passed.
    pub async fn expired(&self) {
        loop {
            // Created before the state is read, so that no change is missed between the two.
            let changed = self.changed.notified();
            let until = self.state.lock().until;
            tokio::select! {
                () = sleep_until(until) => return,
                () = changed => {}
            }
        }
    }

    /// Returns the time until the deadline; `None` if there is no end in sight.
    pub fn time_left(&self) -> Option<Duration> {
        let state = self.state.lock();
        let until = state.until;
        state
            .left
            .or_else(|| Some(until?.saturating_duration_since(Instant::now())))
    }

    /// Pauses the deadline because a question was asked.
    fn pause(&self) {
        let mut state = self.state.lock();
        state.questions += 1;
        if state.questions == 1 {
            let until = state.until.take();
            state.left = until.map(|until| until.saturating_duration_since(Instant::now()));
            self.changed.notify_waiters();
        }
    }

    /// Resumes the deadline once every question is answered.
    fn resume(&self) {
        let mut state = self.state.lock();
        state.questions = state.questions.saturating_sub(1);
        if state.questions == 0
            && let Some(left) = state.left.take()
        {
            state.until = Some(Instant::now() + left);
            self.changed.notify_waiters();
        }
    }
}

async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Sender of a call's progress, to the listener for its events and to its deadline. Sending never
/// blocks and never fails. A caller that dropped its receiver only misses updates. After the call's
/// end, updates are discarded.
#[derive(Clone, Debug)]
pub struct Updates {
    events: queue::Sender<Event>,
    deadline: Option<Arc<CallDeadline>>,
    pub(super) recording: Option<Arc<CallRecording>>,
    late_grant: Option<Arc<LateGrant>>,
}

/// Access that the user granted during a call which could not use it any more.
#[derive(Debug, Default)]
pub struct LateGrant(OnceLock<String>);

impl LateGrant {
    /// Returns the first such access: ``read` access to `/data``.
    pub fn access(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Progress that a runner reports during a call.
#[derive(Debug)]
pub enum Progress {
    /// The user is asked for approval, or the tool asks the user a question.
    Asking,
    /// The user has answered that question.
    Answered,
    /// The arguments are accepted and the tool runs.
    Started,
    /// A partial result: the JSON text of `{content, details, isError?}`.
    Partial(Box<RawValue>),
}

/// Guard that pauses a call's deadline until it is dropped.
pub struct ClockHold(Updates);

impl Drop for ClockHold {
    fn drop(&mut self) {
        self.0.send(Progress::Answered);
    }
}

impl Updates {
    /// Pauses the call's deadline for work that is not the tool's.
    pub fn hold_clock(&self) -> ClockHold {
        self.send(Progress::Asking);
        ClockHold(self.clone())
    }

    pub fn new(events: queue::Sender<Event>, deadline: Option<Arc<CallDeadline>>) -> Updates {
        Updates {
            events,
            deadline,
            recording: None,
            late_grant: None,
        }
    }

    /// Sets where accesses are noted that are granted too late for the call.
    #[must_use]
    pub fn noting_late_grants(self, late_grant: Option<Arc<LateGrant>>) -> Updates {
        Updates { late_grant, ..self }
    }

    /// Notes an access that the user granted and the call cannot use.
    pub fn grant_late(&self, kind: PermissionKind, what: &str) {
        if let Some(late_grant) = &self.late_grant {
            // The first one is what the tool failed for.
            let _ = late_grant.0.set(format!("`{kind}` access to `{what}`"));
        }
    }

    /// Returns true if partial results are used.
    pub fn is_heard(&self) -> bool {
        self.events.is_heard() || self.recording.is_some()
    }

    /// Returns the time until the call's deadline, if it has one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.deadline.as_ref()?.time_left()
    }

    /// Forwards the progress to the events or to the deadline.
    pub fn send(&self, progress: Progress) {
        let deadline = self.deadline.as_deref();
        if let (Some(recording), Progress::Partial(partial)) = (&self.recording, &progress) {
            recording.updated(partial);
        }
        match (progress, deadline) {
            (Progress::Started, _) => self.events.send(Event::Started),
            (Progress::Partial(partial), _) => self.events.send(Event::Update(partial)),
            (Progress::Asking, Some(deadline)) => deadline.pause(),
            (Progress::Answered, Some(deadline)) => deadline.resume(),
            (Progress::Asking | Progress::Answered, None) => {}
        }
    }
}
