//! What a tree of processes is doing, and for how long it was kept waiting by others: a busy machine is no fault of a program that
//! has little time.
//!
//! The kernel counts for each thread how long it was ready to run and did not. The counts of what has
//! ended are lost, and waiting for a disk is not counted: [`Starvation::is_understated`] tells where that
//! may matter.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::Pid;

use crate::process::strays::children_of;

/// More processes than this are not looked at.
const MAX_VISITED: usize = 256;
/// Where the rest of a tree waited for so long, its processes that have ended did so, too.
const NOTICEABLE: Duration = Duration::from_millis(20);
/// The number of page faults of children that have ended, among the fields after the name.
const FAULTS_OF_CHILDREN: usize = 8;

/// What a tree was kept from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starvation {
    /// For how long its threads were ready to run and did not.
    pub(super) waited: Duration,
    /// One of them computes, or would if it could.
    is_runnable: bool,
    /// One of them waits for a disk.
    is_at_disk: bool,
    /// One of them has had children that have ended.
    had_children: bool,
}

impl Starvation {
    /// That of `leader` and of everything below it.
    pub(super) fn of(leader: Pid) -> Starvation {
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

    /// Whether the tree may have been kept waiting for longer than could be counted.
    pub(super) fn is_understated(self) -> bool {
        self.is_at_disk || (self.had_children && self.waited >= NOTICEABLE)
    }

    /// Whether the tree has something to do at this moment and does not wait for a time or an event.
    pub(super) fn is_at_work(self) -> bool {
        self.is_runnable || self.is_at_disk
    }

    fn add(&mut self, pid: Pid) {
        let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid()));
        for thread in threads.into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(thread.path().join(name));
            // Nanoseconds that it ran, nanoseconds that it waited, how often it ran.
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
