//! `tools/changed`: notifies the peer of changed files.

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::message::Notification;
use crate::host::{Host, Watching};
use crate::surface::lines::writer::Writer;
use crate::surface::wire::ReloadView;

/// Watches the files of a host until it is dropped.
pub(super) struct Told {
    _watching: Watching,
    telling: JoinHandle<()>,
}

impl Told {
    pub(super) fn start(host: &Host, writer: Writer) -> Told {
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
        Told {
            _watching: watching,
            telling,
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.telling.abort();
    }
}
