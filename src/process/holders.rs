//! Processes that left a tree without a trace but still hold its outputs: what a shell put in the
//! background with `setsid`, a program that became half a daemon.
//!
//! The pipe itself says whose they are: nobody gets it but from the tree. The hard thing is who must
//! not be found: we ourselves, our other children between their start and their exec (they have all
//! our descriptors for that moment), and an old service that was sent the descriptor.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, getpid, pidfd_send_signal};

use crate::process::strays::{Stat, everyone, hold};

/// Kills who holds one of the pipes `inodes` and is younger than `leader`, which is not reaped yet.
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
        // One that is gone is what we want.
        let _ = pidfd_send_signal(holder, Signal::KILL);
    }
}

fn holds(process: Pid, names: &[String]) -> bool {
    // Another user's are not ours to see, nor to kill.
    let open = fs::read_dir(format!("/proc/{}/fd", process.as_raw_pid()));
    open.into_iter().flatten().flatten().any(|entry| {
        let target = fs::read_link(entry.path());
        target.is_ok_and(|target| names.iter().any(|name| target.as_os_str() == name.as_str()))
    })
}
