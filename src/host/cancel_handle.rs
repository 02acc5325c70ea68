//! Handle that cancels or kills a call from outside.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use haft_tool::{Cancellation, Stopped};

/// Handle that cancels or kills one call without owning it. Dropping it has no effect.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<Cancellation>);

impl CancelHandle {
    /// Creates the handle of a call that starts.
    pub(crate) fn new() -> CancelHandle {
        CancelHandle(Arc::default())
    }

    /// Cancels the call. After its grace period it is killed.
    pub fn cancel(&self) {
        self.0.request();
    }

    /// Ends the call at once, whether it was cancelled before or not. The running code is killed or
    /// left behind, as at the end of a grace period.
    pub fn kill(&self) {
        // First, so that the grace period does not begin.
        self.0.force_token().cancel();
        self.0.request();
    }

    /// Cancels the call because the host shuts down. A call that was cancelled before keeps its
    /// reason.
    pub(super) fn end_with_host(&self) {
        if !self.is_cancelled() {
            // A deadline that passes at this moment keeps its reason, which is as good.
            let _ = self.0.set(Stopped::HostShutdown);
            self.cancel();
        }
    }

    /// Returns true if both handles end the same call.
    pub(crate) fn is(&self, other: &CancelHandle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the cancellation state of the call.
    pub(super) fn cancellation(&self) -> &Arc<Cancellation> {
        &self.0
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.0.token().clone()
    }

    /// Returns true once the end of the call was requested, also by its deadline.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_requested()
    }
}
