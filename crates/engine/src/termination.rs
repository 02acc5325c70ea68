//! Termination of an isolate, and the watchdog that ends it, whatever its thread is stuck in.
//!
//! V8 stops JavaScript, but not the native code that JavaScript has called. A thread that waits for
//! a program comes free when that program is killed. The requests of a thread that never comes free
//! are answered, and the thread is abandoned. It holds its memory until the system call returns.

use std::sync::Arc;
use std::time::Duration;

use super::isolate_state::IsolateState;
use super::messages::Termination;
use super::services::Programs;
use super::stuck_threads;

/// Time in which a thread has to notice its termination, and again after the programs that it waits
/// for are killed. An idle one needs less than a millisecond.
const NOTICE_TIMEOUT: Duration = Duration::from_millis(50);

/// Time in which a worker process has to end by itself.
const WORKER_TIMEOUT: Duration = Duration::from_millis(400);

/// Time limit of freeing a large heap before the thread is abandoned.
const KILL_TIMEOUT: Duration = Duration::from_millis(900);

impl IsolateState {
    /// Ends the isolate whatever it is doing. Everything that runs in it is lost. Only the first
    /// reason counts.
    pub(super) fn terminate(self: &Arc<Self>, termination: Termination) {
        // Code that no request waits for is most often near its end. It may be loading a built-in
        // module of Deno, which panics when it is interrupted. A full heap cannot wait.
        let may_end_by_itself = !termination.is_out_of_memory && self.requests.is_idle();
        if !self.begin_termination(termination) {
            return;
        }
        // A worker process decides this by itself, and has to know at once.
        if !may_end_by_itself || self.connection().is_some() {
            self.terminate_javascript();
        }
        spawn_watchdog(self, &self.programs);
    }
}

/// Starts a watchdog thread for `shared`'s isolate.
fn spawn_watchdog(shared: &Arc<IsolateState>, programs: &Arc<dyn Programs>) {
    let (buried, programs) = (shared.clone(), programs.clone());
    let started = std::thread::Builder::new()
        .name("haft-termination".into())
        .spawn(move || escalate(&buried, &*programs));
    if let Err(error) = started {
        tracing::warn!(%error, "no thread to see an isolate to its end");
        shared.abandon();
    }
}

fn escalate(shared: &IsolateState, programs: &dyn Programs) {
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
