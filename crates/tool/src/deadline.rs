//! Deadline of a call. It is paused while the user is asked.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

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
    pub(super) fn pause(&self) {
        let mut state = self.state.lock();
        state.questions += 1;
        if state.questions == 1 {
            let until = state.until.take();
            state.left = until.map(|until| until.saturating_duration_since(Instant::now()));
            self.changed.notify_waiters();
        }
    }

    /// Resumes the deadline once every question is answered.
    pub(super) fn resume(&self) {
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
