//! Processes of a tree that a signal to the leader's group does not reach. They are in other groups
//! of its session (job control), or in sessions of their own (a haft in a haft).
//!
//! They are found by their session, and by walking down from all known processes. The session works
//! if a parent is gone, the walk if the session is another one. A process that lacks both is not
//! found here. A number can be reused between reading and using it. So each process is held
//! ([`Held`]), and accepted only if the condition that led to it still holds.

use nix::unistd::{self, getpgid, getsid};
use rustix::process::{Pid, Signal};

use super::kernel::{Held, Stat, children_of, everyone};

/// Limit of the processes visited on the walk. It ends the walk down a tree that forks without end.
const MAX_VISITED: usize = 4096;

/// Set of processes of a tree.
#[derive(Default)]
pub(super) struct Strays(Vec<Held>);

impl Strays {
    /// Finds the processes of the leader's tree that are not in its group now. `known` are some
    /// processes of the tree.
    pub(super) fn of(leader: Pid, known: &Self) -> Self {
        let mut all = Self::session(leader);
        all.walk(leader, known);
        all.0
            .retain(|held| getpgid(Some(number(held.pid()))) != Ok(number(leader)));
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
        let mut waiting: Vec<Pid> = self.0.iter().chain(&known.0).map(Held::pid).collect();
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
            found.0.retain(|held| !self.has(held.pid()));
            if found.0.is_empty() {
                break;
            }
            found.signal(Signal::STOP);
            self.0.extend(found.0);
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        for held in &self.0 {
            held.signal(signal);
        }
    }

    fn has(&self, pid: Pid) -> bool {
        self.0.iter().any(|known| known.pid() == pid)
    }
}

/// Returns the processes in the session of `leader`, also when it has ended: no other session gets
/// its number meanwhile.
pub(crate) fn session_of(leader: Pid) -> Vec<Pid> {
    everyone()
        .filter(|pid| getsid(Some(number(*pid))) == Ok(number(leader)))
        .collect()
}

/// Kills the processes in the session of `leader`, and all below them.
pub(crate) fn kill_session(leader: Pid) {
    let mut tree = Strays::tree(leader, &Strays::default());
    tree.freeze(|known| Strays::tree(leader, known));
    tree.signal(Signal::KILL);
}

/// Returns true if a process is in the group of `leader`.
pub(crate) fn has_group(leader: Pid) -> bool {
    rustix::process::test_kill_process_group(leader).is_ok()
}

/// Holds a process, if it still meets the condition.
pub(super) fn hold(pid: Pid, is_meant: impl Fn(Pid) -> bool) -> Option<Held> {
    let held = Held::open(pid)?;
    is_meant(pid).then_some(held)
}

/// Converts to the type of nix. It has a number for "none", which is the session of a kernel
/// thread; rustix does not.
fn number(pid: Pid) -> unistd::Pid {
    unistd::Pid::from_raw(pid.as_raw_pid())
}
