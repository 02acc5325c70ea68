//! Cancellation state of one call: whether it was requested, the reason, and whether the grace
//! period has been cut short.

use std::future::poll_fn;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::task::Poll;

use futures::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

use super::Stopped;

/// Cancellation of one call. Most calls are never stopped, so the tokens are created on first use.
/// A token for each call, with its place in the parent's queue, would take a large part of a short
/// call's time.
#[derive(Debug, Default)]
pub struct Cancellation {
    is_requested: AtomicBool,
    /// Cancellation token. Every holder of it can cancel the call too.
    token: OnceLock<CancellationToken>,
    /// Waker of the task that drives the call, while it waits in [`Self::requested`].
    driver: AtomicWaker,
    reason: OnceLock<Stopped>,
    force_token: OnceLock<CancellationToken>,
}

impl Cancellation {
    /// Requests the cancellation of the call.
    pub fn request(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
        // With the fence in `token`: either this thread finds a token that is being created, or the
        // thread that creates it finds the flag.
        fence(Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
        self.driver.wake();
    }

    /// Returns true once cancellation was requested.
    pub fn is_requested(&self) -> bool {
        let fired = || {
            self.token
                .get()
                .is_some_and(CancellationToken::is_cancelled)
        };
        self.is_requested.load(Ordering::Relaxed) || fired()
    }

    /// Waits until cancellation is requested. Only the task that drives the call may wait here:
    /// there is one waker.
    pub async fn requested(&self) {
        poll_fn(|cx| {
            self.driver.register(cx.waker());
            if self.is_requested.load(Ordering::Relaxed) || self.token.get().is_some() {
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
        let token = self.token.get_or_init(CancellationToken::new);
        fence(Ordering::SeqCst);
        if self.is_requested.load(Ordering::Relaxed) {
            token.cancel();
        }
        self.driver.wake();
        token
    }

    /// Sets the reason for the cancellation, unless one is set.
    ///
    /// # Errors
    /// Returns `why` if a reason is already set.
    pub fn set(&self, why: Stopped) -> Result<(), Stopped> {
        self.reason.set(why)
    }

    /// Returns the reason. `None` if the caller cancelled the call, or if the call was not
    /// cancelled.
    pub fn get(&self) -> Option<&Stopped> {
        self.reason.get()
    }

    /// Returns the token that is cancelled when the grace period of the call is over.
    pub fn force_token(&self) -> &CancellationToken {
        self.force_token.get_or_init(CancellationToken::new)
    }
}
