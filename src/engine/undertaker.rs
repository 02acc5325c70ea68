//! Watchdog that ends a terminated isolate, whatever its thread is stuck in.
//!
//! V8 stops JavaScript, but not the native code that JavaScript has called. A thread that waits for
//! a program comes free when that program is killed. The requests of a thread that never comes free
//! are answered, and the thread is abandoned. It holds its memory until the system call returns.

use std::sync::Arc;
use std::time::Duration;

use super::Programs;
use super::isolate::Shared;
use super::stuck;

/// Time in which a thread has to notice its termination, and again after the programs that it waits
/// for are killed. An idle one needs less than a millisecond.
const PATIENCE: Duration = Duration::from_millis(50);

/// Time limit of freeing a large heap before the thread is abandoned.
const LAST_PATIENCE: Duration = Duration::from_millis(900);

/// Starts a watchdog thread for `shared`'s isolate.
pub(super) fn bury(shared: &Arc<Shared>, programs: &Arc<dyn Programs>) {
    let (buried, programs) = (shared.clone(), programs.clone());
    let started = std::thread::Builder::new()
        .name("haft-undertaker".into())
        .spawn(move || see_to_its_end(&buried, &*programs));
    if let Err(error) = started {
        tracing::warn!(%error, "no thread to see an isolate to its end");
        shared.abandon();
    }
}

fn see_to_its_end(shared: &Shared, programs: &dyn Programs) {
    if shared.has_ended_within(PATIENCE) {
        return;
    }
    shared.terminate_javascript();
    programs.kill_started_by(shared.thread_id());
    if shared.has_ended_within(PATIENCE) {
        return;
    }
    shared.answer_all();
    if !shared.has_ended_within(LAST_PATIENCE) {
        stuck::add(shared.thread_id(), &shared.key);
        shared.abandon();
        // The thread may have ended after the last check and before it was added.
        if shared.has_ended_within(Duration::ZERO) {
            stuck::remove(shared.thread_id());
        }
    }
}
