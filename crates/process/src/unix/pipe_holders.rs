//! Finds detached processes that still hold a child's outputs: a `setsid` background job of a
//! shell, a program that daemonised only partly.
//!
//! Only processes of the tree get its pipe, so the pipe identifies them. Three holders must not be
//! found:
//! - this process;
//! - our other children between start and exec, which briefly hold all our descriptors;
//! - an older service that the descriptor was sent to.

use rustix::process::{Pid, Signal, getpid};

use super::descendants::hold;
use super::kernel::{Held, Stat, everyone, holds_pipe};

/// Kills the processes that hold one of the pipes `inodes` and are younger than `leader`, which is
/// not reaped yet.
pub(super) fn kill(leader: Pid, inodes: &[u64]) {
    let Some(since) = Stat::of(leader).map(|stat| stat.started) else {
        return;
    };
    let is_meant = |pid| {
        let may_be = |stat: Stat| stat.started >= since && stat.parent != getpid();
        pid != getpid() && Stat::of(pid).is_some_and(may_be) && holds_pipe(pid, inodes)
    };
    let found = everyone().filter(|pid| is_meant(*pid));
    let held: Vec<Held> = found.filter_map(|pid| hold(pid, is_meant)).collect();
    for holder in &held {
        holder.signal(Signal::KILL);
    }
}
