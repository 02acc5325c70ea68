//! Pausable clock: the time that the user needs for answers does not count as the tool's (spec
//! cycod 112, 117).

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// Minimum time between two looks at the clock.
const LEAST: Duration = Duration::from_millis(20);

/// Total time that questions were open.
#[derive(Debug, Default)]
pub(crate) struct Thinking(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    before: Duration,
    open: usize,
    since: Option<Instant>,
}

/// A question that is open.
pub(crate) struct Open<'a>(&'a Thinking);

impl Thinking {
    /// Starts a question; it ends when the result is dropped.
    pub(crate) fn begin(&self) -> Open<'_> {
        let mut state = self.0.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        Open(self)
    }

    /// Waits until `limit` is up, not counting the time that questions were open.
    pub(crate) async fn expired(&self, started: Instant, limit: Duration) {
        loop {
            let spent = started.elapsed().saturating_sub(self.total());
            let Some(left) = limit.checked_sub(spent).filter(|left| !left.is_zero()) else {
                return;
            };
            sleep(left.max(LEAST)).await;
        }
    }

    fn total(&self) -> Duration {
        let state = self.0.lock();
        let open = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        state.before + open
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.open -= 1;
        if state.open == 0 {
            let since = state.since.take();
            state.before += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
    }
}
