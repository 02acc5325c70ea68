//! Ends what one of our own threads started and did not end: tools may start programs behind our
//! back (`node:child_process`), and their isolate's thread is the only trace that they leave.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::strays::Strays;

/// Kills every process that the thread `thread_id` of this process started, with all below it.
pub fn kill_children_of_thread(thread_id: i32) {
    let path = format!("/proc/self/task/{thread_id}/children");
    let Ok(list) = fs::read_to_string(path) else {
        return;
    };
    let children = list
        .split_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    for child in children {
        let Ok(held) = pidfd_open(child, PidfdFlags::empty()) else {
            continue;
        };
        // Stopped first, from the top: who is stopped starts nobody and reports nobody's death.
        // One that is gone is what we want.
        let _ = pidfd_send_signal(&held, Signal::STOP);
        let mut below = Strays::below(child, &Strays::default());
        below.freeze(|known| Strays::below(child, known));
        let _ = pidfd_send_signal(&held, Signal::KILL);
        below.signal(Signal::KILL);
    }
}
