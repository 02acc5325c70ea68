//! Observers of the programs that a task starts.

use std::sync::Arc;

use crate::environment::Environment;

/// Observer of the programs that are about to start, with the name that the caller requested.
pub trait StartObserver: Send + Sync {
    /// `program` is about to start.
    fn starts(&self, program: &str);

    /// Returns variables for the program, unless its starter sets them.
    fn variables(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
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

/// Adds the variables of the observer of the current task, if it has one.
pub(super) fn add_variables(environment: &mut Environment) {
    // Most tasks have no observer.
    let variables = OBSERVER.try_with(|observer| observer.variables());
    for (name, value) in variables.unwrap_or_default() {
        environment.set_default(name, value);
    }
}
