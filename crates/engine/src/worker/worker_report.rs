//! The last request that a worker process has taken, which outlives the process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// The number of the last request that JavaScript has seen.
///
/// It is the sum of an event counter of the kernel: the worker adds to it, and haft's process reads
/// it, also after the worker was killed. A file in memory would not do, because a limit of file
/// sizes (`ulimit -f`) holds for it too.
pub(crate) struct WorkerReport {
    counter: OwnedFd,
    /// Sum of what was added, or read, so far.
    last: AtomicU32,
}

impl WorkerReport {
    /// Makes the counter. The second descriptor is for the worker.
    pub(crate) fn new() -> io::Result<(WorkerReport, OwnedFd)> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let of_worker = counter.try_clone()?;
        Ok((WorkerReport::of(counter), of_worker))
    }

    /// Returns the report whose counter is the standard error of this process.
    #[allow(
        clippy::disallowed_methods,
        reason = "in a worker process, standard error is the counter"
    )]
    pub(crate) fn of_this_process() -> io::Result<WorkerReport> {
        let counter = io::stderr().as_fd().try_clone_to_owned()?;
        Ok(WorkerReport::of(counter))
    }

    fn of(counter: OwnedFd) -> WorkerReport {
        WorkerReport {
            counter,
            last: AtomicU32::new(0),
        }
    }

    /// Notes the request that JavaScript is about to see.
    pub(crate) fn set_taken(&self, request: u32) {
        let before = self.last.swap(request, Ordering::Relaxed);
        let more = u64::from(request.saturating_sub(before));
        if more > 0 {
            // Without it, requests of a killed worker are repeated or not repeated by mistake; no
            // answer is wrong.
            let _ = rustix::io::write(&self.counter, &more.to_ne_bytes());
        }
    }

    /// Returns the last request that JavaScript has seen; 0 before the first.
    pub(crate) fn taken(&self) -> u32 {
        let mut bytes = [0; 8];
        if rustix::io::read(&self.counter, &mut bytes).is_ok() {
            let more = u32::try_from(u64::from_ne_bytes(bytes)).unwrap_or(u32::MAX);
            // The worker's numbers are not trusted: the sum must not overflow.
            let add = |last: u32| Some(last.saturating_add(more));
            let _ = self
                .last
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        }
        self.last.load(Ordering::Relaxed)
    }
}
