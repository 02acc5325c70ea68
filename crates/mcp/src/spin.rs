//! Spin-wait of the event loop for messages that come soon.
//!
//! Waking a sleeping core takes longer than a small call of a program. If calls come one after another and
//! their answers come soon, the event loop asks the system again and again instead of sleeping: a task that
//! yields keeps it from that. It does so until the answer comes, and then until the next call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

/// Limit of the time for an answer, and of the time for the next call.
const LIMIT: Duration = Duration::from_micros(100);

/// Number of calls in a row, each alone and answered within [`LIMIT`], after which spinning starts.
const CALLS_IN_A_ROW: u32 = 4;

/// The calls of one program, as far as they decide about spinning.
#[derive(Default)]
pub(crate) struct LoopSpin {
    running: AtomicU32,
    /// Number of starts and ends so far.
    events: AtomicU32,
    /// Number of calls in a row that were alone and short.
    soon: AtomicU32,
    begins: Notify,
}

/// A running call. Dropping it ends the call in the statistics.
pub(crate) struct SpinningCall<'a> {
    spin: &'a LoopSpin,
    began: Instant,
    is_alone: bool,
}

impl LoopSpin {
    /// Starts the task that keeps the event loop awake, until `closing` is cancelled. With several threads
    /// another one waits for the system, and with one core the program needs that core.
    pub(crate) fn start(closing: CancellationToken) -> Arc<LoopSpin> {
        let spin = Arc::new(LoopSpin::default());
        let is_alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        let has_several_cores = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if is_alone && has_several_cores {
            let spinning = spin.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = spinning.spin() => {}
                    () = closing.cancelled() => {}
                }
            });
        }
        spin
    }

    /// Counts a call that starts.
    pub(crate) fn begin(&self) -> SpinningCall<'_> {
        let is_alone = self.running.fetch_add(1, Ordering::Relaxed) == 0;
        self.events.fetch_add(1, Ordering::Relaxed);
        if !is_alone {
            self.soon.store(0, Ordering::Relaxed);
        } else if self.pays() {
            self.begins.notify_one();
        }
        SpinningCall {
            spin: self,
            began: Instant::now(),
            is_alone,
        }
    }

    fn pays(&self) -> bool {
        self.soon.load(Ordering::Relaxed) >= CALLS_IN_A_ROW
    }

    async fn spin(&self) {
        loop {
            self.begins.notified().await;
            let mut events = self.events.load(Ordering::Relaxed);
            let mut since = Instant::now();
            while self.pays() {
                yield_now().await;
                let now = self.events.load(Ordering::Relaxed);
                if now != events {
                    (events, since) = (now, Instant::now());
                } else if since.elapsed() > LIMIT {
                    // In vain.
                    self.soon.store(0, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Drop for SpinningCall<'_> {
    fn drop(&mut self) {
        let LoopSpin {
            running,
            events,
            soon,
            ..
        } = self.spin;
        running.fetch_sub(1, Ordering::Relaxed);
        events.fetch_add(1, Ordering::Relaxed);
        if self.is_alone && self.began.elapsed() <= LIMIT {
            soon.fetch_add(1, Ordering::Relaxed);
        } else {
            soon.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes calls that end at once.
    fn call(spin: &LoopSpin, times: u32) {
        for _ in 0..times {
            drop(spin.begin());
        }
    }

    #[test]
    fn only_short_calls_one_after_another_are_spun_for() {
        let spin = LoopSpin::default();
        // A call that the system interrupts is not short, so that some tries may be needed.
        while !spin.pays() {
            call(&spin, CALLS_IN_A_ROW);
        }
        let first = spin.begin();
        drop(spin.begin());
        assert!(!spin.pays());
        drop(first);
        while !spin.pays() {
            call(&spin, CALLS_IN_A_ROW);
        }
        let mut late = spin.begin();
        let earlier = late.began.checked_sub(2 * LIMIT);
        late.began = earlier.expect("the clock does not begin now");
        drop(late);
        assert!(!spin.pays());
    }

    #[tokio::test]
    async fn spinning_in_vain_ends() {
        let closing = CancellationToken::new();
        let spin = LoopSpin::start(closing.clone());
        while !spin.pays() {
            call(&spin, CALLS_IN_A_ROW);
        }
        let running = spin.begin();
        while spin.pays() {
            yield_now().await;
        }
        drop(running);
        assert!(!spin.pays());
        closing.cancel();
    }
}
