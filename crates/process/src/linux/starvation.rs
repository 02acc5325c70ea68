//! Measures the activity of a process tree, and the time for which other processes kept it waiting.
//! A program with a short deadline should not fail because the machine is busy.
//!
//! The kernel counts for each thread the time for which it was ready but did not run. The counts of
//! ended threads are lost, and waiting for a disk is not counted. [`Starvation::is_understated`]
//! reports when that may matter.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::Pid;

use super::processes::children_of;

/// Limit of the processes that are measured.
const MAX_VISITED: usize = 256;
/// Waiting time from which ended processes of a tree are assumed to have waited as well as the
/// rest.
const NOTICEABLE: Duration = Duration::from_millis(20);
/// Index of the number of page faults of ended children, among the fields after the name.
const FAULTS_OF_CHILDREN: usize = 8;

/// Waiting time and activity of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Starvation {
    /// Time for which its threads were ready but did not run.
    pub(crate) waited: Duration,
    /// True if one of the threads computes, or is ready to.
    is_runnable: bool,
    /// True if one of the threads waits for a disk.
    is_at_disk: bool,
    /// True if one of the processes has had children that have ended.
    had_children: bool,
}

impl Starvation {
    /// Measures `leader` and all processes below it.
    pub(crate) fn of(leader: Pid) -> Starvation {
        let mut starvation = Starvation::default();
        let (mut waiting, mut seen) = (vec![leader], BTreeSet::new());
        while let Some(pid) = waiting.pop() {
            if seen.len() < MAX_VISITED && seen.insert(pid.as_raw_pid()) {
                starvation.add(pid);
                waiting.extend(children_of(pid));
            }
        }
        starvation
    }

    /// Returns true if the tree may have waited for longer than was counted.
    pub(crate) fn is_understated(self) -> bool {
        self.is_at_disk || (self.had_children && self.waited >= NOTICEABLE)
    }

    /// Returns true if the tree is working now, and not waiting for a timer or an event.
    pub(crate) fn is_at_work(self) -> bool {
        self.is_runnable || self.is_at_disk
    }

    fn add(&mut self, pid: Pid) {
        let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid()));
        for thread in threads.into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(thread.path().join(name));
            // The fields: nanoseconds that it ran, nanoseconds that it waited, number of time
            // slices.
            let counts = read("schedstat").unwrap_or_default();
            let waited = counts.split_whitespace().nth(1);
            let waited = waited.and_then(|nanos| nanos.parse().ok());
            self.waited += Duration::from_nanos(waited.unwrap_or_default());
            let stat = read("stat").unwrap_or_default();
            let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
            let mut fields = fields.split_whitespace();
            match fields.next() {
                Some("R") => self.is_runnable = true,
                Some("D") => self.is_at_disk = true,
                _ => {}
            }
            let faults = fields.nth(FAULTS_OF_CHILDREN - 1);
            self.had_children |= faults.is_some_and(|faults| faults != "0");
        }
    }
}
