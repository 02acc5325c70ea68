//! What happens by itself while the repl runs: tools are there, files change.

use std::sync::Arc;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::host::{Host, Reload, Watching};

/// Listens to a host.
pub(super) struct News {
    /// `None`: nothing is watched.
    watching: Option<(Watching, Receiver<Arc<Reload>>)>,
}

impl News {
    /// Nothing ever happens.
    pub(super) fn none() -> News {
        News { watching: None }
    }

    /// What changes on disk.
    pub(super) fn of(host: &Host) -> News {
        let watching = host.watch();
        let reloads = watching.reloads();
        News {
            watching: Some((watching, reloads)),
        }
    }

    /// The next reload. Dropping the future loses nothing.
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

    /// One that has happened already.
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
