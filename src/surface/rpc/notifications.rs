//! `tools/changed`: notifies the peer of changed files.

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::message::Notification;
use crate::host::{Host, WatchGuard};
use crate::surface::stdio::writer::Writer;
use crate::surface::wire::ReloadView;

/// Watches the files of a host until it is dropped.
pub(super) struct Polled {
    _watching: WatchGuard,
    telling: JoinHandle<()>,
}

impl Polled {
    pub(super) fn start(host: &Host, writer: Writer) -> Polled {
        let watching = host.watch();
        let mut reloads = watching.reloads();
        let telling = tokio::spawn(async move {
            loop {
                let reload = match reloads.recv().await {
                    Ok(reload) => reload,
                    // The peer notices missed changes from the generation numbers.
                    Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => return,
                };
                let view = ReloadView::from(&*reload);
                writer.send(&Notification::new("tools/changed", view));
            }
        });
        Polled {
            _watching: watching,
            telling,
        }
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        self.telling.abort();
    }
}
