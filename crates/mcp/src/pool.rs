//! All servers of one host. They stay across reloads of the catalog, and end with the host.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{Server, ServerOptions};
use haft_process::StateFolder;

/// Time that all servers have to end with the host.
const FAREWELL: Duration = Duration::from_secs(2);

/// The servers of one host. A server that no catalog uses any more is stopped.
pub struct Pool {
    servers: Mutex<HashMap<String, Weak<Server>>>,
    cache: StateFolder,
    closing: CancellationToken,
    changes: watch::Sender<u64>,
}

impl Pool {
    /// Creates a pool without servers, which keeps what it knows of servers below this folder.
    pub fn new(cache_dir: &Path) -> Pool {
        Pool {
            servers: Mutex::default(),
            cache: Pool::folder_in(cache_dir),
            closing: CancellationToken::new(),
            changes: watch::Sender::default(),
        }
    }

    /// Returns the folder of what is known of servers.
    pub fn folder_in(cache_dir: &Path) -> StateFolder {
        StateFolder::of_cache(cache_dir.join("mcp"))
    }

    /// Returns the server with these options. It is not started.
    pub fn server(&self, options: ServerOptions) -> Arc<Server> {
        let mut servers = self.servers.lock();
        servers.retain(|_, server| server.strong_count() > 0);
        if let Some(server) = servers.get(&options.key).and_then(Weak::upgrade) {
            return server;
        }
        let key = options.key.clone();
        let (cache, changes) = (self.cache.clone(), self.changes.clone());
        let server = Arc::new(Server::new(
            options,
            cache,
            changes,
            self.closing.child_token(),
        ));
        servers.insert(key, Arc::downgrade(&server));
        server
    }

    /// Returns a counter of the changes of what is known of the servers.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the number of changes so far.
    pub fn version(&self) -> u64 {
        *self.changes.borrow()
    }

    /// Stops all servers for good, and waits for their ends.
    pub async fn close(&self) {
        let servers: Vec<Arc<Server>> = {
            let servers = self.servers.lock();
            servers.values().filter_map(Weak::upgrade).collect()
        };
        self.closing.cancel();
        let closing = join_all(servers.iter().map(|server| server.close()));
        // What does not end in time is killed with the program.
        let _ = timeout(FAREWELL, closing).await;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
