//! Finds detached processes that still hold a child's outputs: a `setsid` background job of a
//! shell, a program that daemonised only partly.
//!
//! Only processes of the tree get its pipe, so the pipe identifies them. Three holders must not be
//! found:
//! - this process;
//! - our other children between start and exec, which briefly hold all our descriptors;
//! - an older service that the descriptor was sent to.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, getpid, pidfd_send_signal};

use crate::descendants::{Stat, everyone, hold};

/// Kills the processes that hold one of the pipes `inodes` and are younger than `leader`, which is
/// not reaped yet.
pub(super) fn kill(leader: Pid, inodes: &[u64]) {
    let Some(since) = Stat::of(leader).map(|stat| stat.started) else {
        return;
    };
    let names: Vec<String> = inodes
        .iter()
        .map(|inode| format!("pipe:[{inode}]"))
        .collect();
    let is_meant = |pid| {
        let may_be = |stat: Stat| stat.started >= since && stat.parent != getpid();
        pid != getpid() && Stat::of(pid).is_some_and(may_be) && holds(pid, &names)
    };
    let found = everyone().filter(|pid| is_meant(*pid));
    let held: Vec<(Pid, OwnedFd)> = found.filter_map(|pid| hold(pid, is_meant)).collect();
    for (_, holder) in &held {
        // An error means that the process has ended already.
        let _ = pidfd_send_signal(holder, Signal::KILL);
    }
}

fn holds(process: Pid, names: &[String]) -> bool {
    // The descriptors of another user's process cannot be read, and it must not be killed.
    let open = fs::read_dir(format!("/proc/{}/fd", process.as_raw_pid()));
    open.into_iter().flatten().flatten().any(|entry| {
        let target = fs::read_link(entry.path());
        target.is_ok_and(|target| names.iter().any(|name| target.as_os_str() == name.as_str()))
    })
}
