//! State that a process inherits: an ignored SIGCHLD of ours, and the session and the signals of our
//! children.

use std::sync::Once;

use nix::spawn::{PosixSpawnAttr, PosixSpawnFlags};
use nix::sys::signal::SigSet;
use tokio::signal::unix::{SignalKind, signal};

use super::kernel::{SPAWN_FLAGS, ignores_children};

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

/// Attributes of a child: its own session, every signal at its default, none blocked.
pub(super) fn fresh_session() -> nix::Result<PosixSpawnAttr> {
    let session = PosixSpawnFlags::from_bits_retain(SPAWN_FLAGS);
    let signals = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(session | signals)?;
    attributes.set_sigdefault(&SigSet::all())?;
    attributes.set_sigmask(&SigSet::empty())?;
    Ok(attributes)
}
