//! Watchdog that ends a terminated isolate, whatever its thread is stuck in.
//!
//! V8 stops JavaScript, but not the native code that JavaScript has called. A thread that waits for
//! a program comes free when that program is killed. The requests of a thread that never comes free
//! are answered, and the thread is abandoned. It holds its memory until the system call returns.

use std::sync::Arc;
use std::time::Duration;

use super::Programs;
use super::isolate::Shared;
use super::stuck_threads;

/// Time in which a thread has to notice its termination, and again after the programs that it waits
/// for are killed. An idle one needs less than a millisecond.
const NOTICE_TIMEOUT: Duration = Duration::from_millis(50);

/// Time in which a worker process has to end by itself.
const WORKER_TIMEOUT: Duration = Duration::from_millis(400);

/// Time limit of freeing a large heap before the thread is abandoned.
const KILL_TIMEOUT: Duration = Duration::from_millis(900);

/// Starts a watchdog thread for `shared`'s isolate.
pub(super) fn spawn_watchdog(shared: &Arc<Shared>, programs: &Arc<dyn Programs>) {
    let (buried, programs) = (shared.clone(), programs.clone());
    let started = std::thread::Builder::new()
        .name("haft-termination".into())
        .spawn(move || escalate(&buried, &*programs));
    if let Err(error) = started {
        tracing::warn!(%error, "no thread to see an isolate to its end");
        shared.abandon();
    }
}

fn escalate(shared: &Shared, programs: &dyn Programs) {
    // A worker process does the same by itself, and stops its programs in order. It is killed only if
    // it does not.
    let timeout = match shared.connection() {
        Some(_) => WORKER_TIMEOUT,
        None => NOTICE_TIMEOUT,
    };
    if shared.has_ended_within(timeout) {
        return;
    }
    shared.terminate_javascript();
    shared.kill_programs(programs);
    if shared.has_ended_within(NOTICE_TIMEOUT) {
        return;
    }
    shared.answer_all();
    if !shared.has_ended_within(KILL_TIMEOUT) {
        // A killed process frees its memory; a thread that cannot be stopped does not.
        if shared.connection().is_none() {
            stuck_threads::add(shared.thread_id(), &shared.key);
        }
        shared.abandon();
        // The thread may have ended after the last check and before it was added.
        if shared.has_ended_within(Duration::ZERO) {
            stuck_threads::remove(shared.thread_id());
        }
    }
}
