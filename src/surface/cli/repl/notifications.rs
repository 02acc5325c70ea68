//! Reloads that happen while the repl runs, after changes on disk.

use std::sync::Arc;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::host::{Host, Reload, WatchGuard};

/// Subscription to a host's reloads.
pub(super) struct News {
    /// `None` if nothing is watched.
    watching: Option<(WatchGuard, Receiver<Arc<Reload>>)>,
}

impl News {
    /// Creates a subscription that never reports anything.
    pub(super) fn none() -> News {
        News { watching: None }
    }

    /// Watches the host's files.
    pub(super) fn of(host: &Host) -> News {
        let watching = host.watch();
        let reloads = watching.reloads();
        News {
            watching: Some((watching, reloads)),
        }
    }

    /// Waits for the next reload. Cancel safe.
    pub(super) async fn next(&mut self) -> Arc<Reload> {
        while let Some((_, reloads)) = &mut self.watching {
            match reloads.recv().await {
                Ok(reload) => return reload,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => self.watching = None,
            }
        }
        std::future::pending().await
    }

    /// Returns a reload that has happened already.
    pub(super) fn now(&mut self) -> Option<Arc<Reload>> {
        let (_, reloads) = self.watching.as_mut()?;
        loop {
            match reloads.try_recv() {
                Ok(reload) => return Some(reload),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }
}
