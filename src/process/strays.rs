//! Processes below a leader that have left its group (a tool that starts its own sessions, a haft
//! inside a haft).
//!
//! They are found by walking down from the leader, so only while their parents live: who detaches
//! fully, as a daemon does, is let go. The hard thing: between reading a number and using it, it
//! can change hands. Each is held by a descriptor, and believed only if its parent is still right.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};

/// Deeper than any honest tree; ends the walk down one that forks without end.
const MOST_VISITED: usize = 4096;

/// Processes outside of their leader's group, each held by a descriptor.
#[derive(Default)]
pub(super) struct Strays(Vec<OwnedFd>);

impl Strays {
    /// Those below `leader` now that are not in its group.
    pub(super) fn below(leader: Pid) -> Self {
        Self::find(leader, |child| getpgid(Some(child)) != Ok(leader))
    }

    /// Everything below `leader` now.
    pub(super) fn all_below(leader: Pid) -> Self {
        Self::find(leader, |_| true)
    }

    fn find(leader: Pid, wanted: impl Fn(Pid) -> bool) -> Self {
        let mut strays = Vec::new();
        let mut waiting = vec![leader];
        for _ in 0..MOST_VISITED {
            let Some(parent) = waiting.pop() else {
                break;
            };
            for child in children_of(parent) {
                let Ok(held) = pidfd_open(child, PidfdFlags::empty()) else {
                    continue;
                };
                if parent_of(child) != Some(parent) {
                    continue;
                }
                waiting.push(child);
                if wanted(child) {
                    strays.push(held);
                }
            }
        }
        Self(strays)
    }

    pub(super) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    pub(super) fn signal(&self, signal: Signal) {
        for stray in &self.0 {
            // One that is gone is what we want.
            let _ = pidfd_send_signal(stray, signal);
        }
    }
}

/// Each thread of a process has its own list.
fn children_of(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid())) else {
        return Vec::new();
    };
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>())
        .collect()
}

fn parent_of(child: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.as_raw_pid())).ok()?;
    // The name in parentheses may hold anything; after its end come the state and the parent.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1).and_then(pid)
}

fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}
