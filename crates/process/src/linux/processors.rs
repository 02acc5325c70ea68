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
    let own = sched_getaffinity(None)?;
    let own: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| own.is_set(*cpu))
        .collect();
    if count >= own.len() {
        return Ok(());
    }
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    let mut limited = CpuSet::new();
    for place in 0..count {
        limited.set(own[first.wrapping_add(place) % own.len()]);
    }
    Ok(sched_setaffinity(Some(process), &limited)?)
}
