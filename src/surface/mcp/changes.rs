//! Tells clients that the list has changed: once for each change that they can see.

use std::time::Duration;

use tokio::time::timeout;

use super::server::Server;

/// How often it is looked whether anybody is still there to be told.
const LOOKING: Duration = Duration::from_secs(60);

/// Who is told.
pub(super) trait Listener: Send {
    /// Tells them; false if they are gone.
    fn tell(&mut self) -> impl Future<Output = bool> + Send;

    /// Whether they are gone.
    fn is_gone(&self) -> bool;
}

/// Tells `listener` of every change from now on, until they are gone.
pub(super) async fn follow(server: Server, mut listener: impl Listener) {
    let mut changes = server.host().changes();
    let mut known = server.offer().await;
    loop {
        match timeout(LOOKING, changes.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if listener.is_gone() => return,
            Err(_) => continue,
        }
        let now = server.offer().await;
        // What is not offered may change as it likes.
        if now.is_like(&known) {
            continue;
        }
        known = now;
        if !listener.tell().await {
            return;
        }
    }
}
