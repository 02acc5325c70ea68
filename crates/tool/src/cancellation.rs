//! Cancellation of one call: whether it was requested, the reason, and whether the grace period has
//! been cut short.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// Cancellation of one call. The caller, the deadline and the shutdown of the host use the same
/// one. Clones are handles of it; dropping them has no effect.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Every holder of the token can cancel the call too.
    token: CancellationToken,
    reason: OnceLock<Stopped>,
    force_token: OnceLock<CancellationToken>,
}

impl Cancellation {
    /// Cancels the call for its caller. After its grace period the call is killed.
    pub fn cancel(&self) {
        self.request(Stopped::Cancelled);
    }

    /// Ends the call at once, whether it was cancelled before or not. The running code is killed or
    /// left behind, as at the end of a grace period.
    pub fn kill(&self) {
        // First, so that the grace period does not begin.
        self.force_token().cancel();
        self.cancel();
    }

    /// Returns true once the end of the call was requested, also by its deadline.
    pub fn is_cancelled(&self) -> bool {
        self.state.token.is_cancelled()
    }

    /// Returns the reason for the cancellation; `None` if the call was not cancelled.
    pub fn reason(&self) -> Option<Stopped> {
        // Without a reason, a holder of the token cancelled the call.
        let reason = self.state.reason.get().copied();
        reason.or_else(|| self.is_cancelled().then_some(Stopped::Cancelled))
    }

    /// Requests the end of the call. The first reason counts.
    pub fn request(&self, why: Stopped) {
        if !self.is_cancelled() {
            // Of two requests at the same moment, either reason is right.
            let _ = self.state.reason.set(why);
        }
        self.state.token.cancel();
    }

    /// Waits until cancellation is requested.
    pub async fn requested(&self) {
        self.state.token.cancelled().await;
    }

    /// Returns the cancellation token. It is cancelled on request, and cancelling it is a request.
    pub fn token(&self) -> &CancellationToken {
        &self.state.token
    }

    /// Returns the token that is cancelled when the grace period of the call is over.
    pub fn force_token(&self) -> &CancellationToken {
        self.state.force_token.get_or_init(CancellationToken::new)
    }

    /// Waits for the grace period of a cancelled call: `grace`, or less if the call is killed.
    pub async fn grace_period(&self, grace: Duration) {
        tokio::select! {
            () = self.force_token().cancelled() => {}
            () = tokio::time::sleep(grace) => {}
        }
    }

    /// Returns true if both handles belong to the same call.
    pub fn is(&self, other: &Cancellation) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

/// Reason for which a call was stopped. The variants are ordered: a later one outweighs an earlier
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Stopped {
    /// The call's deadline has passed.
    Deadline,
    /// The caller cancelled it.
    Cancelled,
    /// The tool exhausted its memory, or the isolate that it ran in was discarded.
    Discarded,
    /// The host is shutting down.
    HostShutdown,
}

impl Stopped {
    /// Returns the text of `signal.reason` in a JavaScript tool. The first text is oh-my-pi's (spec
    /// omp 8).
    pub fn abort_reason(self) -> &'static str {
        match self {
            Stopped::Cancelled | Stopped::Discarded => "Interrupted by user",
            Stopped::Deadline => "The call timed out",
            Stopped::HostShutdown => "The host is shutting down",
        }
    }

    /// Returns the reason for people, as a clause.
    pub fn reason(self) -> &'static str {
        match self {
            Stopped::Deadline => "its time was up",
            Stopped::Cancelled => "it was cancelled",
            Stopped::Discarded => "it ran away",
            Stopped::HostShutdown => "the host is shutting down",
        }
    }

    /// Returns the reason of that name.
    pub fn from_name(name: &str) -> Option<Stopped> {
        name.parse().ok()
    }

    /// Returns the reason's name as surfaces print it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
