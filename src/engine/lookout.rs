//! Tells that some time has passed, to all who wait at once.
//!
//! Whoever waits for a call wants to look around when it takes long, and nearly none does. A timer for
//! each would cost a small call a good part of its time, most of it for the system call that tells the
//! runtime of a timer earlier than those it knew. One that ticks for all costs nothing as long as
//! calls come, and stops after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

/// Long for a small call, and short before anybody has to look.
const EVERY: Duration = Duration::from_millis(10);

/// Ticks while somebody wants to know.
#[derive(Default)]
pub(super) struct Lookout {
    ticks: Notify,
    is_ticking: AtomicBool,
    /// Somebody has begun to wait since the last tick.
    is_wanted: AtomicBool,
}

impl Lookout {
    /// Waits until some time has passed: never long, but possibly not at all.
    pub(super) async fn tick(self: &Arc<Self>) {
        // From here on none is missed, not even the one with which the ticking stops.
        let tick = self.ticks.notified();
        if !self.is_wanted.load(Ordering::SeqCst) {
            self.is_wanted.store(true, Ordering::SeqCst);
        }
        if !self.is_ticking.load(Ordering::SeqCst) && !self.is_ticking.swap(true, Ordering::SeqCst)
        {
            tokio::spawn(Ticking(self.clone()).go_on());
        }
        tick.await;
    }
}

/// The task that ticks. Should its runtime end before the engine does, it ticks a last time.
struct Ticking(Arc<Lookout>);

impl Ticking {
    async fn go_on(self) {
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
