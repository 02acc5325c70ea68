//! Tells which programs are started on behalf of a task.

use std::sync::Arc;

/// Is told of each program that is about to start, by the name that was asked for.
pub(crate) trait StartObserver: Send + Sync {
    /// `program` is about to start.
    fn starts(&self, program: &str);
}

tokio::task_local! {
    static OBSERVER: Arc<dyn StartObserver>;
}

/// Runs `task`; `observer` is told of the programs that it starts itself, not of those of tasks that it spawns.
pub(crate) async fn observed<T>(
    observer: Arc<dyn StartObserver>,
    task: impl Future<Output = T>,
) -> T {
    OBSERVER.scope(observer, task).await
}

/// Tells the observer of the current task, if it has one.
pub(super) fn starts(program: &str) {
    // A task without an observer is nothing unusual.
    let _ = OBSERVER.try_with(|observer| observer.starts(program));
}
