//! Limit of the processors that a process uses, by its affinity: that needs neither privileges nor a
//! control group.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Place of the next limited process among the processors, so that the limited processes do not
/// share the first ones.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Lets the process use at most `count` of the processors that this process may use. Threads and
/// processes that it starts later inherit that.
pub fn limit_processors(process: Pid, count: usize) -> io::Result<()> {
    match choose(&sched_getaffinity(None)?, count) {
        Some(limited) => Ok(sched_setaffinity(Some(process), &limited)?),
        None => Ok(()),
    }
}

/// Starts a process that has such a limit from its first instruction on: it inherits that of this
/// thread.
pub fn on_processors<T>(count: usize, start: impl FnOnce() -> T) -> io::Result<T> {
    let own = sched_getaffinity(None)?;
    let Some(limited) = choose(&own, count) else {
        return Ok(start());
    };
    sched_setaffinity(None, &limited)?;
    let _restored = Restored(own);
    Ok(start())
}

/// Processors that this thread gets back.
struct Restored(CpuSet);

impl Drop for Restored {
    fn drop(&mut self) {
        let result = sched_setaffinity(None, &self.0);
        debug_assert!(result.is_ok(), "a set that was read can be set");
    }
}

/// Returns `count` of these processors; `None` if there are no more.
fn choose(own: &CpuSet, count: usize) -> Option<CpuSet> {
    let own: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| own.is_set(*cpu))
        .collect();
    if count >= own.len() {
        return None;
    }
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    let mut limited = CpuSet::new();
    for place in 0..count {
        limited.set(own[first.wrapping_add(place) % own.len()]);
    }
    Some(limited)
}
