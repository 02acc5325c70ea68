//! Services that the host implements for an engine, which starts no programs and writes no log.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::IsolateKey;
use haft_tool::{LogLevel, PermissionProfile, TrustDomain};

/// Starts programs for tools.
pub trait Programs: Send + Sync {
    /// Runs the program of `request` (the JSON of `js-runtime/11_exec.ts`) until it ends or
    /// `cancel` fires. Returns the JSON of an `ExecAnswer`. `permissions` are those of the caller.
    fn exec(
        &self,
        request: String,
        permissions: &PermissionProfile,
        cancel: CancellationToken,
    ) -> Pin<Box<dyn Future<Output = String> + Send>>;

    /// Notes that the thread `thread_id` is about to start a program itself (`node:child_process`).
    fn starts_by(&self, thread_id: i32);

    /// Kills every process that the thread `thread_id` started and that still runs, except those
    /// that were released.
    fn kill_started_by(&self, thread_id: i32);

    /// Releases a program that a thread of an isolate started. It outlives the host, if it is
    /// detached and the host allows that.
    fn release(&self, pid: i32);

    /// Returns the program that runs scripts for Node; tools see it as `process.execPath`.
    fn script_runner(&self) -> Option<PathBuf>;
}

/// Receives what tools write with `pi.logger` and `console`, and warnings about them.
pub trait ToolLog: Send + Sync {
    /// Logs one line for code of `domain`. `context` is the JSON text of an object, or empty.
    fn log(&self, domain: TrustDomain, level: LogLevel, tool: &str, message: &str, context: &str);
}

/// Starts worker processes.
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

    /// Returns false if its working directory, or a file that its sandbox grants, was replaced: a new
    /// worker would see the one that is there now. Called before each request.
    fn is_current(&self) -> bool;

    /// Waits until the process uses more memory than `own_memory` bytes, without its programs, or
    /// exceeds with them the limits of the user. Returns the reason: `it ran out of memory (…)`.
    fn limit_exceeded(&self, own_memory: u64) -> futures::future::BoxFuture<'static, String>;
}
