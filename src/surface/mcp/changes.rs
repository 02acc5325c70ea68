//! Notifies clients that the tool list has changed, once for each change that they can see.

use std::time::Duration;

use tokio::time::timeout;

use super::server::Server;

/// Interval of the checks whether the listener still exists.
const LOOKING: Duration = Duration::from_secs(60);

/// Listener for changes of the tool list.
pub(super) trait Listener: Send {
    /// Notifies the client. Returns false if the client has disconnected.
    fn tell(&mut self) -> impl Future<Output = bool> + Send;

    /// Returns true if the client has disconnected.
    fn is_gone(&self) -> bool;
}

/// Notifies `listener` of every change from now on, until its client disconnects.
pub(super) async fn follow(server: Server, mut listener: impl Listener) {
    let mut changes = server.host().changes();
    let mut known = server.tool_list().await;
    loop {
        match timeout(LOOKING, changes.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if listener.is_gone() => return,
            Err(_) => continue,
        }
        let now = server.tool_list().await;
        // Changes of tools that are not listed are ignored.
        if now.is_like(&known) {
            continue;
        }
        known = now;
        if !listener.tell().await {
            return;
        }
    }
}
