//! Processes of a tree that a signal to the leader's group does not reach. They are in other groups
//! of its session (job control), or in sessions of their own (a haft in a haft).
//!
//! They are found by their session, and by walking down from all known processes. The session works
//! if a parent is gone, the walk if the session is another one. A process that lacks both is not
//! found here. A number can be reused between reading and using it. So each process is held by a
//! descriptor, and accepted only if the condition that led to it still holds.

use std::fs;
use std::os::fd::OwnedFd;

use nix::unistd::{self, getpgid, getsid};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Limit of the processes visited on the walk. It ends the walk down a tree that forks without end.
const MAX_VISITED: usize = 4096;

/// Set of processes of a tree, each held by a descriptor.
#[derive(Default)]
pub(super) struct Strays(Vec<(Pid, OwnedFd)>);

impl Strays {
    /// Finds the processes of the leader's tree that are not in its group now. `known` are some
    /// processes of the tree.
    pub(super) fn of(leader: Pid, known: &Self) -> Self {
        let mut all = Self::session(leader);
        all.walk(leader, known);
        all.0
            .retain(|(pid, _)| getpgid(Some(number(*pid))) != Ok(number(leader)));
        all
    }

    /// Finds all processes below `root` and `known` now, and the session of `root` if it leads one.
    pub(super) fn tree(root: Pid, known: &Self) -> Self {
        let mut all = Self::session(root);
        all.walk(root, known);
        all
    }

    /// Finds all processes in the session of `leader` except itself. Its number identifies no other
    /// session while the leader is not reaped.
    fn session(leader: Pid) -> Self {
        let inside = |pid| getsid(Some(number(pid))) == Ok(number(leader));
        let others = everyone().filter(|pid| *pid != leader && inside(*pid));
        Self(others.filter_map(|pid| hold(pid, inside)).collect())
    }

    /// Adds all processes below `root`, below `known` and below those in this set.
    fn walk(&mut self, root: Pid, known: &Self) {
        let mut waiting: Vec<Pid> = self.0.iter().chain(&known.0).map(|(pid, _)| *pid).collect();
        waiting.push(root);
        for _ in 0..MAX_VISITED {
            let Some(parent) = waiting.pop() else {
                break;
            };
            for child in children_of(parent) {
                if self.has(child) {
                    continue;
                }
                let is_right = |child| Stat::of(child).is_some_and(|stat| stat.parent == parent);
                if let Some(held) = hold(child, is_right) {
                    waiting.push(child);
                    self.0.push(held);
                }
            }
        }
    }

    /// Stops all processes of this set, and those that `look` finds meanwhile, until it finds no
    /// new ones. A stopped process cannot start or reap another one.
    pub(super) fn freeze(&mut self, look: impl Fn(&Self) -> Self) {
        self.signal(Signal::STOP);
        for _ in 0..MAX_VISITED {
            let mut found = look(self);
            found.0.retain(|(pid, _)| !self.has(*pid));
            if found.0.is_empty() {
                break;
            }
            found.signal(Signal::STOP);
            self.0.extend(found.0);
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        for (_, held) in &self.0 {
            // An error means that the process has ended already.
            let _ = pidfd_send_signal(held, signal);
        }
    }

    fn has(&self, pid: Pid) -> bool {
        self.0.iter().any(|(known, _)| *known == pid)
    }
}

/// Opens a descriptor of a process, if the process still meets the condition.
pub(super) fn hold(pid: Pid, is_meant: impl Fn(Pid) -> bool) -> Option<(Pid, OwnedFd)> {
    let held = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    is_meant(pid).then_some((pid, held))
}

/// Returns every process that is visible to us.
pub(super) fn everyone() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| pid(entry.ok()?.file_name().to_str()?))
}

/// Fields of `/proc/PID/stat`.
pub(super) struct Stat {
    pub(super) parent: Pid,
    /// Start time in ticks since the system booted.
    pub(super) started: u64,
}

impl Stat {
    pub(super) fn of(process: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
        // The name in parentheses may contain anything. The fields after it are counted from 3.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(1);
        let parent = fields.next().and_then(pid)?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { parent, started })
    }
}

/// Returns the children of a process. Each thread has its own list.
pub(super) fn children_of(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid())) else {
        return Vec::new();
    };
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>())
        .collect()
}

/// Converts to the type of nix. It has a number for "none", which is the session of a kernel
/// thread; rustix does not.
fn number(pid: Pid) -> unistd::Pid {
    unistd::Pid::from_raw(pid.as_raw_pid())
}

fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}
