//! Coarse timer that is shared by all calls.
//!
//! A caller checks on its call when it takes long, which few calls do. A timer for each call would
//! cost a small call a good part of its time. Most of that is the system call that announces an
//! earlier timer to the runtime. The shared timer costs nothing as long as calls come, and stops
//! after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

/// Interval of the ticks: longer than a small call takes, shorter than the time until the first
/// check of a call is due.
const EVERY: Duration = Duration::from_millis(10);

/// Ticks while calls wait.
#[derive(Default)]
pub(super) struct CoarseTimer {
    ticks: Notify,
    is_ticking: AtomicBool,
    /// Set if a call has begun to wait since the last tick.
    is_wanted: AtomicBool,
}

impl CoarseTimer {
    /// Waits for the next tick: at most about one interval, possibly no time at all.
    pub(super) async fn tick(self: &Arc<Self>) {
        // Created before the flags are read, so that no tick is missed, not even the last one.
        let tick = self.ticks.notified();
        if !self.is_wanted.load(Ordering::SeqCst) {
            self.is_wanted.store(true, Ordering::SeqCst);
        }
        if !self.is_ticking.load(Ordering::SeqCst) && !self.is_ticking.swap(true, Ordering::SeqCst)
        {
            tokio::spawn(Ticking(self.clone()).run());
        }
        tick.await;
    }
}

/// The task that ticks. Its drop sends a last tick, in case its runtime ends before the engine.
struct Ticking(Arc<CoarseTimer>);

impl Ticking {
    async fn run(self) {
        while self.0.is_wanted.swap(false, Ordering::SeqCst) {
            sleep(EVERY).await;
            self.0.ticks.notify_waiters();
        }
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.is_ticking.store(false, Ordering::SeqCst);
        self.0.ticks.notify_waiters();
    }
}
