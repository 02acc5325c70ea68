//! What ends one call: the wish, why, and whether anybody still waits for it to end by itself.

use std::future::poll_fn;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::task::Poll;

use futures::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

use super::Stopped;

/// The end of one call. Most calls are never stopped, so nothing is made for that before somebody asks
/// for it: a token for each call, and a place in its queue, would take a good part of a small one's time.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    is_wanted: AtomicBool,
    /// Who has it may fire it, too.
    token: OnceLock<CancellationToken>,
    /// The one who drives the call, while they wait in [`Self::wanted`].
    driver: AtomicWaker,
    reason: OnceLock<Stopped>,
    hurry: OnceLock<CancellationToken>,
}

impl Ending {
    /// Asks the call to end.
    pub(crate) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
        // Either this finds a token that is made at the same moment, or its maker finds this.
        fence(Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
        self.driver.wake();
    }

    /// True once it was asked to end.
    pub(crate) fn is_wanted(&self) -> bool {
        let fired = || {
            self.token
                .get()
                .is_some_and(CancellationToken::is_cancelled)
        };
        self.is_wanted.load(Ordering::Relaxed) || fired()
    }

    /// Waits until it was asked to end. For whoever drives the call, and nobody else at the same time.
    pub(crate) async fn wanted(&self) {
        poll_fn(|cx| {
            self.driver.register(cx.waker());
            match self.is_wanted.load(Ordering::Relaxed) || self.token.get().is_some() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        // From the first token on, others may fire it.
        self.token().cancelled().await;
    }

    /// Fires when it was asked to end; firing it asks.
    pub(crate) fn token(&self) -> &CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        fence(Ordering::SeqCst);
        if self.is_wanted.load(Ordering::Relaxed) {
            token.cancel();
        }
        self.driver.wake();
        token
    }

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
