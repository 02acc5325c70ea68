//! `tools/changed`: notifies the peer of changes of the catalog.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::message::Notification;
use crate::host::{Host, Reload, WatchGuard};
use crate::surface::stdio::writer::Writer;
use crate::surface::wire::ReloadView;
use haft_tool::CallerScope;

/// Notifies the peer until it is dropped.
pub(super) struct Notifications {
    _watching: Option<WatchGuard>,
    task: JoinHandle<()>,
}

impl Notifications {
    /// Watches the files of a host and notifies the peer of each reload.
    pub(super) fn of_files(
        host: &Host,
        selection: Arc<CallerScope>,
        writer: Writer,
    ) -> Notifications {
        let watching = host.watch();
        let mut reloads = watching.reloads();
        let task = tokio::spawn(async move {
            loop {
                match reloads.recv().await {
                    Ok(reload) => reloaded(&writer, &selection, &reload),
                    // The peer notices missed changes from the generation numbers.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        Notifications {
            _watching: Some(watching),
            task,
        }
    }

    /// Notifies the peer of each change of the list of tools, whatever caused it.
    pub(super) fn of_changes(
        host: &Host,
        selection: Arc<CallerScope>,
        writer: Writer,
    ) -> Notifications {
        let mut changes = host.changes();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let change = changes.borrow_and_update().clone();
                send(&writer, &selection, ReloadView::of_change(&change));
            }
        });
        Notifications {
            _watching: None,
            task,
        }
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Notifies the peer of one reload.
pub(super) fn reloaded(writer: &Writer, selection: &CallerScope, reload: &Reload) {
    send(writer, selection, ReloadView::from(reload));
}

/// Sends what concerns the tools that the peer sees.
fn send(writer: &Writer, selection: &CallerScope, view: ReloadView<'_>) {
    if let Some(view) = view.selected(|name| selection.allows_name(name)) {
        writer.send(&Notification::new("tools/changed", view));
    }
}
