//! Observers of the programs that a task starts.

use std::sync::Arc;

/// Observer of the programs that are about to start, with the name that the caller requested.
pub trait StartObserver: Send + Sync {
    /// `program` is about to start.
    fn starts(&self, program: &str);
}

tokio::task_local! {
    static OBSERVER: Arc<dyn StartObserver>;
}

/// Runs `task` and notifies `observer` of each program that it starts. Tasks that it spawns are not
/// observed.
pub async fn observed<T>(observer: Arc<dyn StartObserver>, task: impl Future<Output = T>) -> T {
    OBSERVER.scope(observer, task).await
}

/// Notifies the observer of the current task, if it has one.
pub(super) fn starts(program: &str) {
    // Most tasks have no observer.
    let _ = OBSERVER.try_with(|observer| observer.starts(program));
}
