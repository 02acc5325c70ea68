//! Cancellation of one call: whether it was requested, the reason, and whether the grace period has
//! been cut short.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

use super::Stopped;

/// Cancellation of one call. The caller, the deadline and the shutdown of the host use the same
/// one. Clones are handles of it; dropping them has no effect.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    state: Arc<State>,
}

/// Most calls are never stopped, so the tokens are created on first use. A token for each call,
/// with its place in the parent's queue, would take a large part of a short call's time.
#[derive(Debug, Default)]
struct State {
    is_requested: AtomicBool,
    /// Cancellation token. Every holder of it can cancel the call too.
    token: OnceLock<CancellationToken>,
    /// Waker of the task that drives the call, while it waits in [`Cancellation::requested`].
    driver: AtomicWaker,
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
        let fired = || {
            let token = self.state.token.get();
            token.is_some_and(CancellationToken::is_cancelled)
        };
        self.state.is_requested.load(Ordering::Relaxed) || fired()
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
        self.state.is_requested.store(true, Ordering::Relaxed);
        // With the fence in `token`: either this thread finds a token that is being created, or the
        // thread that creates it finds the flag.
        fence(Ordering::SeqCst);
        if let Some(token) = self.state.token.get() {
            token.cancel();
        }
        self.state.driver.wake();
    }

    /// Waits until cancellation is requested. Only the task that drives the call may wait here:
    /// there is one waker.
    pub async fn requested(&self) {
        poll_fn(|cx| {
            self.state.driver.register(cx.waker());
            let is_requested = self.state.is_requested.load(Ordering::Relaxed);
            if is_requested || self.state.token.get().is_some() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        // Once a token exists, its other holders can cancel it.
        self.token().cancelled().await;
    }

    /// Returns the cancellation token. It is cancelled on request, and cancelling it is a request.
    pub fn token(&self) -> &CancellationToken {
        let token = self.state.token.get_or_init(CancellationToken::new);
        fence(Ordering::SeqCst);
        if self.state.is_requested.load(Ordering::Relaxed) {
            token.cancel();
        }
        self.state.driver.wake();
        token
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
