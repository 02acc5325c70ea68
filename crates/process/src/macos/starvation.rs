//! Measures the activity of a process tree.
//!
//! macOS does not count the time for which a process was ready but did not run, so no deadline is
//! extended.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Pid;

use super::processes::{children_of, is_running};

/// Limit of the processes that are measured.
const MAX_VISITED: usize = 256;

/// Waiting time and activity of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Starvation {
    /// Time for which its threads were ready but did not run.
    pub(crate) waited: Duration,
    /// True if one of the threads computes.
    is_running: bool,
}

impl Starvation {
    /// Measures `leader` and all processes below it.
    pub(crate) fn of(leader: Pid) -> Starvation {
        let (mut waiting, mut seen) = (vec![leader], BTreeSet::new());
        let mut starvation = Starvation::default();
        while let Some(pid) = waiting.pop() {
            if seen.len() < MAX_VISITED && seen.insert(pid.as_raw_pid()) {
                starvation.is_running |= is_running(pid);
                waiting.extend(children_of(pid));
            }
        }
        starvation
    }

    /// Returns true if the tree may have waited for longer than was counted: it is not counted.
    pub(crate) fn is_understated(self) -> bool {
        true
    }

    /// Returns true if the tree is working now, and not waiting for a timer or an event.
    pub(crate) fn is_at_work(self) -> bool {
        self.is_running
    }
}
