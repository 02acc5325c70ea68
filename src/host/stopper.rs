//! What ends a call from outside: politely, and then at once.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::tool::{Ending, Stopped};

/// Ends one call, for whoever does not hold it. Dropping it ends nothing.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Ending>);

impl Stopper {
    /// For a call that begins.
    pub(crate) fn new() -> Stopper {
        Stopper(Arc::default())
    }

    /// Asks the call to end. It has its grace period for that; then it is ended.
    pub fn cancel(&self) {
        self.0.want();
    }

    /// Ends the call at once, whether it was asked before or not: what runs is killed or left behind,
    /// as it is when a grace period is over.
    pub fn kill(&self) {
        // First, so that nobody begins to wait.
        self.0.hurry().cancel();
        self.0.want();
    }

    /// Asks it to end because the host does. One that was asked before knows already why it ends.
    pub(super) fn end_with_host(&self) {
        if !self.was_used() {
            // A deadline that passes at this moment is as good a reason.
            let _ = self.0.set(Stopped::HostShutdown);
            self.cancel();
        }
    }

    /// Whether both end the same call.
    pub(crate) fn is(&self, other: &Stopper) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What it ends the call by.
    pub(super) fn ending(&self) -> &Arc<Ending> {
        &self.0
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.0.token().clone()
    }

    /// True once the call was asked to end.
    pub fn was_used(&self) -> bool {
        self.0.is_wanted()
    }
}
