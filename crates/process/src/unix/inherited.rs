//! State inherited from our parent process: an ignored SIGCHLD.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

use super::kernel::ignores_children;

/// Makes sure that the system keeps our children until we reap them.
///
/// A process inherits an ignored SIGCHLD from its parent. The system then reaps our children
/// itself: exit codes are lost and process numbers can be reused. Any handler for the signal ends
/// this, and the handler that tokio sets is permanent.
pub(crate) fn keep_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = ignores_children()
            .then(|| signal(SignalKind::child()))
            .transpose()
        {
            tracing::warn!(%error, "SIGCHLD is ignored and cannot be restored");
        }
    });
}
