//! Isolates in worker processes.
//!
//! A worker process (`haft --worker`) runs one isolate. haft's process keeps everything that
//! concerns callers: the requests, their updates and users, the log, pending actions. Two sockets
//! connect them:
//!
//! - The *main* socket carries requests to the isolate in their order, and everything from the
//!   worker to haft. The isolate's own thread reads it, so a small call wakes one thread of the
//!   worker.
//! - The *control* socket carries orders that must not wait for JavaScript: to withdraw a request,
//!   to interrupt a renderer, to end. A thread of its own reads it.
//!
//! The worker decides under one lock whether JavaScript has seen a request ([`Requests`]); haft's
//! process asks it before it sends a request elsewhere. For a worker that was killed, its
//! [`WorkerReport`] says which requests it had taken.
//!
//! haft treats all bytes of a worker as hostile: messages are limited in size, unknown ids are
//! ignored, and a message that cannot be read ends the worker.
//!
//! [`Requests`]: super::requests::Requests

mod connection;
mod process;
mod protocol;
mod remote_link;
mod report;
mod socket;
mod spare;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) use connection::Connection;
pub(super) use process::{HostSender, NoMessage, SocketInbox};
pub use process::{run_worker, run_zygote};
pub(super) use report::WorkerReport;
pub(super) use spare::{BootingWorker, Spares};

use super::IsolateKey;

/// Starts worker processes. The host implements it, because the engine starts no programs.
pub trait Workers: Send + Sync {
    /// Prepares the start of several workers with this limit of their heap, if that makes it faster.
    /// Does not wait.
    fn prepare(&self, heap_mb: u32);

    /// Ends what [`Workers::prepare`] has started, for good. Blocks.
    fn close(&self);

    /// Starts a worker for code with this key. `streams` become its descriptors 0, 1 and 2.
    ///
    /// # Errors
    /// If it cannot be started, or not with the isolation that the key requires; a sentence.
    fn start(
        &self,
        key: &IsolateKey,
        heap_mb: u32,
        streams: [OwnedFd; 3],
    ) -> Result<Arc<dyn WorkerProcess>, String>;

    /// Returns the paths of code that a worker for this key can read if it is started now.
    fn readable_code(&self, key: &IsolateKey) -> Vec<PathBuf>;
}

/// A worker process that was started.
pub trait WorkerProcess: Send + Sync {
    /// Kills the process and all processes below it.
    fn kill(&self);

    /// Waits for the end of the process. Returns how it ended, as a part of a sentence: `was ended
    /// by SIGABRT`. Blocks.
    fn wait(&self) -> String;

    /// Returns the folder that `$TMPDIR` stands for in its permissions, if they were made for it.
    fn tmp(&self) -> Option<PathBuf>;

    /// Waits until the process uses more memory than `own_memory` bytes, without its programs, or
    /// exceeds with them the limits of the user. Returns the reason: `it ran out of memory (…)`.
    fn limit_exceeded(&self, own_memory: u64) -> futures::future::BoxFuture<'static, String>;
}
