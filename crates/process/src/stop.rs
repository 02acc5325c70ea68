//! Stops a process tree: TERM to the whole tree, the grace period, KILL to the whole tree.
//!
//! The reason for the stop is unknown here. It takes at most the grace period and the time that
//! KILL needs. Outputs are drained meanwhile, because a process that cannot write its last output
//! cannot end. A process that still holds an output after KILL has left the tree; it is found by
//! the pipe it holds.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::running::Running;

/// Timeout of KILL. Only a process that hangs in the kernel needs longer.
const KILL_TAKES: Duration = Duration::from_secs(1);

/// Time for which the pipes of killed processes may stay open.
const PIPES_TAKE: Duration = Duration::from_millis(20);

/// Ends the tree. The grace period ends early when the leader is gone and no process holds the
/// pipes, or when `force_token` fires.
pub(super) async fn stop(
    running: &mut Running,
    grace: Duration,
    force_token: Option<CancellationToken>,
) {
    if !grace.is_zero() {
        running.leader.ask_tree();
        tokio::select! {
            biased;
            () = hurried(force_token) => {}
            () = sleep(grace) => {}
            () = running.until_quiet() => {}
        }
    }
    kill(running).await;
}

async fn hurried(force_token: Option<CancellationToken>) {
    match force_token {
        Some(force_token) => force_token.cancelled_owned().await,
        None => std::future::pending().await,
    }
}

/// Kills what is left of the tree.
pub(super) async fn kill(running: &mut Running) {
    running.leader.kill_tree();
    if timeout(KILL_TAKES, running.until_exit()).await.is_err() {
        tracing::warn!(
            pid = running.leader.pid().as_raw_pid(),
            "a killed child does not end"
        );
    }
    if timeout(PIPES_TAKE, running.until_quiet()).await.is_err() {
        running.leader.kill_holders();
    }
}
