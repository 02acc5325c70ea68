//! Clock of a script: the time that the script itself takes, and the thread that ends a script whose
//! time is up.
//!
//! The clock runs while JavaScript runs, and while the script waits for nothing but its own timers.
//! It stands still while a call of a tool is open.

use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::lock;

/// Shortest wait of the watchdog, so that a clock that stands still close to its limit costs nothing.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// Clock of one script.
pub(super) struct OwnTime {
    limit: Duration,
    state: Mutex<State>,
}

struct State {
    used: Duration,
    running_since: Option<Instant>,
}

impl OwnTime {
    pub(super) fn new(limit: Duration) -> OwnTime {
        OwnTime {
            limit,
            state: Mutex::new(State {
                used: Duration::ZERO,
                running_since: None,
            }),
        }
    }

    /// Lets the clock run.
    pub(super) fn run(&self) {
        self.state().running_since.get_or_insert_with(Instant::now);
    }

    /// Stops the clock.
    pub(super) fn pause(&self) {
        let mut state = self.state();
        if let Some(since) = state.running_since.take() {
            state.used += since.elapsed();
        }
    }

    /// Returns the time that is left; zero if it is up.
    pub(super) fn left(&self) -> Duration {
        let state = self.state();
        let running = state.running_since.map(|since| since.elapsed());
        let used = state.used + running.unwrap_or_default();
        self.limit.saturating_sub(used)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Thread that calls `expired` once the time of a script is up. It ends when this is dropped.
pub(super) struct Watchdog(#[expect(dead_code, reason = "held")] mpsc::Sender<()>);

impl Watchdog {
    pub(super) fn start(
        time: Arc<OwnTime>,
        expired: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Watchdog> {
        let (held, is_over) = mpsc::channel();
        thread::Builder::new()
            .name("haft-script-time".into())
            .stack_size(128 << 10)
            .spawn(move || {
                loop {
                    let left = time.left();
                    if left.is_zero() {
                        return expired();
                    }
                    let waited = is_over.recv_timeout(left.max(MIN_WAIT));
                    if waited != Err(mpsc::RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            })?;
        Ok(Watchdog(held))
    }
}
