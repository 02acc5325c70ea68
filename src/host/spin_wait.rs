//! Decides whether a caller should spin briefly instead of parking its thread.
//!
//! A small tool ends before its caller would be parked, and waking a thread on another core costs
//! several times as much as the tool. Spinning pays only for a caller whose calls come one by one:
//! spinning delays a caller that starts others meanwhile. The calls before show which case it is.
//! Every [`ONE_OF`]th call is parked, so that a change is noticed.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use haft_engine::has_several_cores;

/// Maximum time to spin: as long as a small tool takes.
const MAX_SPIN: Duration = Duration::from_micros(50);

/// Number of short calls in a row without others beside them, after which spinning starts.
const CALLS_IN_A_ROW: u32 = 8;

/// One of this number of calls is parked without spinning.
const ONE_OF: u32 = 32;

/// Pauses between two polls. A poll costs more than a pause.
const PAUSES: u32 = 16;

/// Statistics of a host's calls.
#[derive(Default)]
pub(super) struct CallSpin {
    running: AtomicU32,
    /// Number of calls in a row that ran alone.
    alone: AtomicU32,
}

/// A running call. Dropping it ends the call in the statistics.
pub(super) struct Running {
    call_spin: Arc<CallSpin>,
    began_alone: bool,
}

impl CallSpin {
    /// Polls until `look` is ready or spinning does not pay any more.
    pub(super) fn wait<T>(&self, mut look: impl FnMut() -> Poll<T>) -> Poll<T> {
        if !self.pays() {
            return Poll::Pending;
        }
        let since = Instant::now();
        while since.elapsed() < MAX_SPIN {
            for _ in 0..PAUSES {
                spin_loop();
            }
            if let Poll::Ready(found) = look() {
                return Poll::Ready(found);
            }
        }
        self.alone.store(0, Ordering::Relaxed);
        Poll::Pending
    }

    fn pays(&self) -> bool {
        let alone = self.alone.load(Ordering::Relaxed);
        alone >= CALLS_IN_A_ROW
            && !alone.is_multiple_of(ONE_OF)
            && self.running.load(Ordering::Relaxed) == 1
            && has_several_cores()
    }
}

impl Running {
    /// Counts a call that starts.
    pub(super) fn begin(call_spin: &Arc<CallSpin>) -> Running {
        let before = call_spin.running.fetch_add(1, Ordering::Relaxed);
        if before > 0 {
            call_spin.alone.store(0, Ordering::Relaxed);
        }
        Running {
            call_spin: call_spin.clone(),
            began_alone: before == 0,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let call_spin = &self.call_spin;
        call_spin.running.fetch_sub(1, Ordering::Relaxed);
        if self.began_alone {
            call_spin.alone.fetch_add(1, Ordering::Relaxed);
        }
    }
}
