//! Adaptive spin-wait of an isolate's thread for the next request.
//!
//! Waking a thread on another core costs ten times what a small call does. A caller in a loop sends
//! its next request a few microseconds after the last answer. A thread that has seen several such
//! requests spins for the next one before it sleeps. If the spinning was in vain, it stops spinning
//! until several requests come soon again. It never spins with many requests at once, because then
//! the core is better used otherwise.

use std::hint::spin_loop;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

/// Time limit of spinning: what a busy caller in another process needs to read an answer and to
/// send its next request.
const MAX_SPIN: Duration = Duration::from_micros(100);

/// A request within this time would have been worth spinning for, because a wake-up takes time,
/// too.
const SOON_ENOUGH: Duration = Duration::from_micros(200);

/// Number of requests in a row that must come within [`SOON_ENOUGH`] before the thread spins.
const REQUESTS_IN_A_ROW: u32 = 4;

/// Polls between two reads of the clock.
const LOOKS: u32 = 32;

/// Returns true if there are several cores. With a single one, spinning takes the core from the
/// thread that is waited for.
pub fn has_several_cores() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1))
}

/// Statistics of a thread about how soon its requests come.
#[derive(Default)]
pub(super) struct RequestSpin {
    soon: u32,
    asleep_since: Option<Instant>,
    /// Messages since the thread last had nothing to do.
    at_once: u32,
}

impl RequestSpin {
    /// Returns the next message, if one comes while spinning pays off.
    pub(super) fn next<T>(&mut self, inbox: &mut mpsc::UnboundedReceiver<T>) -> Option<T> {
        let came_alone = std::mem::take(&mut self.at_once) <= 1;
        if self.soon < REQUESTS_IN_A_ROW || !came_alone || !has_several_cores() {
            return None;
        }
        let since = Instant::now();
        while since.elapsed() < MAX_SPIN {
            for _ in 0..LOOKS {
                if let Ok(message) = inbox.try_recv() {
                    return Some(message);
                }
                spin_loop();
            }
            // The caller may be waiting for this very core.
            thread::yield_now();
        }
        self.soon = 0;
        None
    }

    /// Notes that the thread goes to sleep, and that nothing runs in its isolate.
    pub(super) fn sleeps(&mut self) {
        self.asleep_since = Some(Instant::now());
    }

    /// Notes that a message has arrived.
    pub(super) fn woke(&mut self) {
        self.at_once += 1;
        let Some(since) = self.asleep_since.take() else {
            return;
        };
        self.soon = if since.elapsed() < SOON_ENOUGH {
            self.soon + 1
        } else {
            0
        };
    }
}
