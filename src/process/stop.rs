//! The stop ladder: ask the whole tree, wait for the grace, kill the whole tree.
//!
//! It does not know why the call ends. Nobody is waited for longer than the grace and what KILL
//! needs. While it waits the outputs are still drained, for a process that cannot write its last
//! words cannot end either.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::timeout;

use crate::process::running::Running;
use crate::process::strays::Strays;

/// How long KILL may take. Only a process that hangs in the kernel needs longer.
const KILL_TAKES: Duration = Duration::from_secs(1);

/// Ends the tree. The grace is over early when the leader is gone and nobody holds the pipes.
pub(super) async fn stop(running: &mut Running, grace: Duration) {
    let mut strays = Strays::below(running.leader.pid());
    if !grace.is_zero() {
        strays.signal(Signal::TERM);
        running.leader.signal(Signal::TERM);
        // A stopped process (SIGSTOP, SIGTTIN) hears of TERM only when it goes on.
        strays.signal(Signal::CONT);
        running.leader.signal(Signal::CONT);
        // Running out of the grace is what the next step is for.
        let _ = timeout(grace, running.until_quiet()).await;
        strays.extend(Strays::below(running.leader.pid()));
    }
    strays.signal(Signal::KILL);
    running.leader.signal(Signal::KILL);
    if timeout(KILL_TAKES, running.until_exit()).await.is_err() {
        tracing::warn!(
            pid = running.leader.pid().as_raw_pid(),
            "a killed child does not end"
        );
    }
}
