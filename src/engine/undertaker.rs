//! Sees a doomed isolate to its end, whatever its thread is stuck in.
//!
//! V8 stops JavaScript, not the native code that JavaScript has called. A thread that waits for a
//! program comes free when that program is killed; from one that never comes free we take the
//! requests away and let it go. It holds its memory until the system call returns.

use std::sync::Arc;
use std::time::Duration;

use super::Programs;
use super::isolate::Shared;
use super::stuck;

/// How long a thread may take to notice that it is doomed, and then again when the programs that it
/// waits for are gone. An idle one needs less than a millisecond.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long the taking down of a large heap may take before the end of the program goes over it.
const LAST_PATIENCE: Duration = Duration::from_millis(900);

/// Starts to see `shared`'s isolate to its end.
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
        // It may have ended meanwhile, before it could be removed.
        if shared.has_ended_within(Duration::ZERO) {
            stuck::remove(shared.thread_id());
        }
    }
}
