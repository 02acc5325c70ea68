//! The runtime on which an engine serves its connections.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, watch};

/// Handle of a runtime that does not end before the connections of the engine.
///
/// The runtime of a caller may end, or stand still, while calls of other callers run. So the engine
/// has a thread of its own, unless the program has one runtime for all callers: then a thread for
/// the answers would only add a switch between threads to each call.
#[derive(Clone)]
pub(crate) struct ConnectionRuntime {
    pub(crate) handle: Handle,
    /// Keeps the thread. It ends when the engine and all of its connections have ended.
    pub(super) alive: Option<mpsc::Sender<()>>,
    /// Closed when the thread has ended.
    ended: Option<watch::Receiver<()>>,
}

impl ConnectionRuntime {
    /// Returns the runtime of the program, or else starts a thread with one.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(of_program: Option<&Handle>) -> io::Result<ConnectionRuntime> {
        if let Some(handle) = of_program {
            return Ok(ConnectionRuntime {
                handle: handle.clone(),
                alive: None,
                ended: None,
            });
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, mut last) = mpsc::channel(1);
        let (is_served, ended) = watch::channel(());
        let serve = move || {
            // Nothing is ever sent: the channel closes with its last sender.
            runtime.block_on(last.recv());
            runtime.shutdown_background();
            drop(is_served);
        };
        thread::Builder::new()
            .name("haft-connections".into())
            .spawn(serve)?;
        Ok(ConnectionRuntime {
            handle,
            alive: Some(alive),
            ended: Some(ended),
        })
    }

    /// Waits until the thread has ended, at most for this time.
    pub(crate) async fn end(mut self, limit: Duration) {
        self.alive = None;
        if let Some(mut ended) = self.ended {
            // Nothing is ever sent, so this waits for the end.
            let _ = tokio::time::timeout(limit, ended.changed()).await;
        }
    }
}
