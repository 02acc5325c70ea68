//! The time that a call has left. It stands still while somebody is asked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The clock of one call.
#[derive(Debug)]
pub(crate) struct Clock {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// When the time is up; `None` while it stands still, and where that is beyond all calendars.
    until: Option<Instant>,
    /// What is left while it stands still.
    left: Option<Duration>,
    /// How many questions are open.
    questions: u32,
}

impl Clock {
    /// A clock that runs from now on.
    pub(crate) fn start(timeout: Duration) -> Clock {
        Clock {
            state: Mutex::new(State {
                until: Instant::now().checked_add(timeout),
                left: None,
                questions: 0,
            }),
            changed: Notify::new(),
        }
    }

    /// Waits until the time is up.
    pub(crate) async fn run_out(&self) {
        loop {
            // Made before the look, so that no change is missed between the two.
            let changed = self.changed.notified();
            let until = self.state().until;
            tokio::select! {
                () = sleep_until(until) => return,
                () = changed => {}
            }
        }
    }

    /// Somebody is asked.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.questions += 1;
        if state.questions == 1 {
            let until = state.until.take();
            state.left = until.map(|until| until.saturating_duration_since(Instant::now()));
            self.changed.notify_waiters();
        }
    }

    /// They have answered.
    pub(super) fn go_on(&self) {
        let mut state = self.state();
        state.questions = state.questions.saturating_sub(1);
        if state.questions == 0
            && let Some(left) = state.left.take()
        {
            state.until = Some(Instant::now() + left);
            self.changed.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
