//! Adaptive spin-waits: of a caller for its call, and of an isolate's thread for the next request.
//!
//! Waking a thread on another core costs several times what a small call does. So a thread that
//! waits for another one spins first, if the waits before show that this pays. `docs/speed.md` has
//! the figures: without either of the two, a small call takes at least twice as long.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// Looks between two reads of the clock.
const LOOKS: u32 = 32;

/// Returns true if there are several cores. With a single one, spinning takes the core from the
/// thread that is waited for.
pub fn has_several_cores() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1))
}

/// Looks again and again, with `pauses` in between, until something is found or the time is over.
fn spin<T>(limit: Duration, pauses: u32, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let since = Instant::now();
    while since.elapsed() < limit {
        for _ in 0..LOOKS {
            if let Some(found) = look() {
                return Some(found);
            }
            for _ in 0..pauses {
                spin_loop();
            }
        }
        // The other thread may be waiting for this very core.
        thread::yield_now();
    }
    None
}

/// Stands for a processor whose number is not known.
const UNKNOWN: u32 = u32::MAX;

/// The processor on which the last request was sent.
static REQUEST_SENT_ON: AtomicU32 = AtomicU32::new(UNKNOWN);

/// The processor on which the last answer was sent.
static ANSWER_SENT_ON: AtomicU32 = AtomicU32::new(UNKNOWN);

/// Returns the number of the processor on which this thread runs.
pub(crate) fn current_processor() -> u32 {
    #[cfg(target_os = "linux")]
    return u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(UNKNOWN);
    #[cfg(not(target_os = "linux"))]
    UNKNOWN
}

/// Notes the processor on which a request was sent.
pub(crate) fn request_sent_on(processor: u32) {
    REQUEST_SENT_ON.store(processor, Ordering::Relaxed);
}

/// Notes the processor on which an answer was sent.
pub(crate) fn answer_sent_on(processor: u32) {
    ANSWER_SENT_ON.store(processor, Ordering::Relaxed);
}

/// Returns true if the other thread last ran on the processor of this one. It needs that processor,
/// so spinning for it would only delay it.
fn is_here(sent_on: &AtomicU32) -> bool {
    let last = sent_on.load(Ordering::Relaxed);
    last != UNKNOWN && last == current_processor()
}

/// Time limit of spinning for a request: what a busy caller in another process needs to read an
/// answer and to send its next request.
const MAX_REQUEST_SPIN: Duration = Duration::from_micros(100);

/// A request within this time would have been worth spinning for, because a wake-up takes time,
/// too.
const SOON_ENOUGH: Duration = Duration::from_micros(200);

/// Number of requests in a row that must come within [`SOON_ENOUGH`] before the thread spins.
const REQUESTS_IN_A_ROW: u32 = 4;

/// Statistics of an isolate's thread about how soon its requests come.
///
/// A caller in a loop sends its next request a few microseconds after the last answer. A thread
/// that has seen several such requests spins for the next one. If the spinning was in vain, it
/// stops until several requests come soon again. It never spins with many requests at once, because
/// then the core is better used otherwise.
#[derive(Default)]
pub(crate) struct RequestSpin {
    soon: u32,
    asleep_since: Option<Instant>,
    /// Messages since the thread last had nothing to do.
    at_once: u32,
}

impl RequestSpin {
    /// Returns the next message, if one comes while spinning pays off. `look` returns it when it is
    /// there.
    pub(crate) fn next<T>(&mut self, look: impl FnMut() -> Option<T>) -> Option<T> {
        let came_alone = std::mem::take(&mut self.at_once) <= 1;
        let pays = self.soon >= REQUESTS_IN_A_ROW && came_alone && has_several_cores();
        if !pays || is_here(&REQUEST_SENT_ON) {
            return None;
        }
        let found = spin(MAX_REQUEST_SPIN, 1, look);
        if found.is_none() {
            self.soon = 0;
        }
        found
    }

    /// Notes that the thread goes to sleep, and that nothing runs in its isolate.
    pub(crate) fn sleeps(&mut self) {
        self.asleep_since = Some(Instant::now());
    }

    /// Notes that a message has arrived.
    pub(crate) fn woke(&mut self) {
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

/// Time limit of spinning for the end of a call: as long as a small tool takes.
const MAX_CALL_SPIN: Duration = Duration::from_micros(50);

/// Number of short calls in a row without others beside them, after which spinning starts.
const CALLS_IN_A_ROW: u32 = 8;

/// One of this number of calls is parked without spinning, so that a change is noticed.
const ONE_OF: u32 = 32;

/// Pauses between two polls of a call. A poll costs more than a pause.
const PAUSES: u32 = 16;

/// Statistics of a host's calls. Spinning pays only for a caller whose calls come one by one: it
/// delays a caller that starts others meanwhile.
#[derive(Default)]
pub struct CallSpin {
    running: AtomicU32,
    /// Number of calls in a row that ran alone.
    alone: AtomicU32,
}

/// A running call. Dropping it ends the call in the statistics.
pub struct SpinningCall {
    call_spin: Arc<CallSpin>,
    began_alone: bool,
}

/// Guard of a call that [`CallSpin::leave_out`] left out.
pub struct LeftOutCall(Arc<CallSpin>);

impl Drop for LeftOutCall {
    fn drop(&mut self) {
        self.0.running.fetch_add(1, Ordering::Relaxed);
    }
}

impl CallSpin {
    /// Polls until `poll` is ready or spinning does not pay any more.
    pub fn wait<T>(&self, mut poll: impl FnMut() -> Poll<T>) -> Poll<T> {
        if !self.pays() || is_here(&ANSWER_SENT_ON) {
            return Poll::Pending;
        }
        let look = || match poll() {
            Poll::Ready(found) => Some(found),
            Poll::Pending => None,
        };
        match spin(MAX_CALL_SPIN, PAUSES, look) {
            Some(found) => Poll::Ready(found),
            None => {
                self.alone.store(0, Ordering::Relaxed);
                Poll::Pending
            }
        }
    }

    /// Counts a call that starts.
    pub fn begin(self: &Arc<Self>) -> SpinningCall {
        let before = self.running.fetch_add(1, Ordering::Relaxed);
        if before > 0 {
            self.alone.store(0, Ordering::Relaxed);
        }
        SpinningCall {
            call_spin: self.clone(),
            began_alone: before == 0,
        }
    }

    /// Leaves one running call out of the statistics until the guard is dropped: a call that only
    /// waits for other calls, which would otherwise never count as alone.
    pub fn leave_out(self: &Arc<Self>) -> LeftOutCall {
        self.running.fetch_sub(1, Ordering::Relaxed);
        LeftOutCall(self.clone())
    }

    fn pays(&self) -> bool {
        let alone = self.alone.load(Ordering::Relaxed);
        alone >= CALLS_IN_A_ROW
            && !alone.is_multiple_of(ONE_OF)
            && self.running.load(Ordering::Relaxed) == 1
            && has_several_cores()
    }
}

impl Drop for SpinningCall {
    fn drop(&mut self) {
        let call_spin = &self.call_spin;
        call_spin.running.fetch_sub(1, Ordering::Relaxed);
        if self.began_alone {
            call_spin.alone.fetch_add(1, Ordering::Relaxed);
        }
    }
}
