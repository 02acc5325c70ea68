//! What ends a call from outside: politely, and then at once.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::tool::{Ending, Stopped};

/// Ends one call, for whoever does not hold it. Dropping it ends nothing.
#[derive(Clone, Debug)]
pub struct Stopper {
    cancel: CancellationToken,
    ending: Arc<Ending>,
}

impl Stopper {
    /// For a call that begins.
    pub(crate) fn new() -> Stopper {
        Stopper {
            cancel: CancellationToken::new(),
            ending: Arc::default(),
        }
    }

    /// Asks the call to end. It has its grace period for that; then it is ended.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends the call at once, whether it was asked before or not: what runs is killed or left behind,
    /// as it is when a grace period is over.
    pub fn kill(&self) {
        // First, so that nobody begins to wait.
        self.ending.hurry().cancel();
        self.cancel.cancel();
    }

    /// Asks it to end because the host does. One that was asked before knows already why it ends.
    pub(super) fn end_with_host(&self) {
        if !self.was_used() {
            // A deadline that passes at this moment is as good a reason.
            let _ = self.ending.set(Stopped::HostShutdown);
            self.cancel();
        }
    }

    /// What is known of its end.
    pub(super) fn reason(&self) -> &Arc<Ending> {
        &self.ending
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// True once the call was asked to end.
    pub fn was_used(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
