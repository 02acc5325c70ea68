//! Clock of a script: the time that the script itself takes, and the thread that ends a script whose
//! time is up.
//!
//! The clock runs while JavaScript runs, and while the script waits for nothing but its own timers.
//! It stands still while a call of a tool is open.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ScriptControl;
use crate::lock;
use crate::script::ScriptFailure;

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

/// Starts the thread that ends a script whose time is up, or that haft has stopped. The thread ends
/// when nothing more can be read from `socket`.
pub(super) fn start_watchdog(
    control: Arc<ScriptControl>,
    time: Arc<OwnTime>,
    socket: OwnedFd,
) -> io::Result<()> {
    let watch = move || {
        loop {
            let left = time.left();
            if left.is_zero() {
                return control.end(ScriptFailure::OwnTime(time.limit));
            }
            // Only a number that is too large has no such form.
            let wait = Timespec::try_from(left.max(MIN_WAIT)).ok();
            let is_stopped = poll(&mut [PollFd::new(&socket, PollFlags::RDHUP)], wait.as_ref());
            if matches!(is_stopped, Ok(1..)) {
                return control.end(ScriptFailure::Cancelled);
            }
        }
    };
    thread::Builder::new()
        .name("haft-script-time".into())
        .stack_size(128 << 10)
        .spawn(watch)
        .map(drop)
}
