//! Why a call ends, and whether anybody still waits for it to end by itself.

use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

use super::Stopped;

/// What is known of the end of one call.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    reason: OnceLock<Stopped>,
    /// Made when somebody asks for it: most calls are never stopped.
    hurry: OnceLock<CancellationToken>,
}

impl Ending {
    /// Says why the call must end, if nobody has.
    ///
    /// # Errors
    /// With `why`, if there is a reason already.
    pub(crate) fn set(&self, why: Stopped) -> Result<(), Stopped> {
        self.reason.set(why)
    }

    /// Why it must end; nothing where its caller wished it, and where it need not.
    pub(crate) fn get(&self) -> Option<&Stopped> {
        self.reason.get()
    }

    /// Fires when nobody waits for the call to end by itself: its grace period is over.
    pub(crate) fn hurry(&self) -> &CancellationToken {
        self.hurry.get_or_init(CancellationToken::new)
    }
}
