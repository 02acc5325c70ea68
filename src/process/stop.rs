//! The stop ladder: ask the whole tree, wait for the grace, kill the whole tree.
//!
//! It does not know why the call ends. Nobody is waited for longer than the grace and what KILL
//! needs. While it waits the outputs are still drained, for a process that cannot write its last
//! words cannot end either. Who still holds one after KILL has left the tree, and is found by it.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::process::running::Running;

/// How long KILL may take. Only a process that hangs in the kernel needs longer.
const KILL_TAKES: Duration = Duration::from_secs(1);

/// How long the pipes of the killed may stay open.
const PIPES_TAKE: Duration = Duration::from_millis(20);

/// Ends the tree. The grace is over early when the leader is gone and nobody holds the pipes, and when
/// somebody is in a hurry.
pub(super) async fn stop(running: &mut Running, grace: Duration, hurry: Option<CancellationToken>) {
    if !grace.is_zero() {
        running.leader.ask_tree();
        tokio::select! {
            biased;
            () = hurried(hurry) => {}
            () = sleep(grace) => {}
            () = running.until_quiet() => {}
        }
    }
    kill(running).await;
}

async fn hurried(hurry: Option<CancellationToken>) {
    match hurry {
        Some(hurry) => hurry.cancelled_owned().await,
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
