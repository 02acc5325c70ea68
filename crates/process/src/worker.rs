//! A process that a caller talks to through its own sockets: a worker of haft.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::exec_args::{Ends, Order, Refusal};
use crate::finished::Exit;
use crate::sandbox::ReadySandbox;
use crate::system::{self, Descriptor, Leader, Pid};
use crate::{Spawn, SpawnError};

#[cfg(target_os = "linux")]
use crate::linux::{Cell, limit_processors};

#[cfg(not(target_os = "linux"))]
fn limit_processors(_: Pid, _: usize) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Handle of a process with streams of the caller's choice. Dropping it kills the process and
/// everything below it.
pub struct Worker {
    pid: Pid,
    leader: Mutex<Leader>,
    sandbox: Option<ReadySandbox>,
    /// The control group with its limit of processors.
    #[cfg(target_os = "linux")]
    cell: std::sync::OnceLock<Cell>,
}

impl Worker {
    /// Starts the program. `streams` become its descriptors 0, 1 and 2. The fields of `spawn` about
    /// streams, deadlines, limits and the working directory are not used.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(spawn: &Spawn, streams: [Descriptor; 3]) -> Result<Worker, SpawnError> {
        Worker::started_by(system::start_at_once, spawn, streams)
    }

    /// Starts the program like [`Worker::start`], by `start`.
    pub(crate) fn started_by(
        start: impl FnOnce(&Order, &Ends) -> Result<Leader, Refusal>,
        spawn: &Spawn,
        streams: [Descriptor; 3],
    ) -> Result<Worker, SpawnError> {
        let order = Order::new(spawn, None, None)?;
        let [stdin, stdout, stderr] = streams;
        let ends = Ends {
            stdin,
            stdout,
            stderr,
        };
        let leader = start(&order, &ends).map_err(|refusal| order.refused(refusal))?;
        Ok(Worker {
            pid: leader.pid(),
            leader: Mutex::new(leader),
            sandbox: order.sandbox.clone(),
            #[cfg(target_os = "linux")]
            cell: std::sync::OnceLock::new(),
        })
    }

    /// Returns false if its sandbox was made for files that others have replaced meanwhile.
    pub fn is_current(&self) -> bool {
        self.sandbox.as_ref().is_none_or(ReadySandbox::is_current)
    }

    /// Returns the number of the process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Lets the process, and what it starts from now on, use `count` processors at most. In a
    /// sandbox it cannot change that, and outside only where the system allows no control group.
    /// Called before the process has started anything.
    ///
    /// # Errors
    /// If the system does not allow it, or has no such limit.
    pub fn limit_processors(&self, count: usize) -> std::io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.sandbox.is_none()
            && let Some(cell) = Cell::with_limits(None, Some(count))
        {
            cell.put(self.pid)?;
            // It is limited once.
            let _ = self.cell.set(cell);
        }
        limit_processors(self.pid, count)
    }

    /// Limits the files that the process, and what it starts from now on, have open at a time. Only
    /// Linux has that limit.
    pub fn limit_open_files(&self, count: u64) {
        system::limit_open_files(self.pid, count);
    }

    /// Kills the process and everything below it. Does nothing after its end was waited for.
    pub fn kill(&self) {
        self.leader().kill_tree();
    }

    /// Waits for the end of the process, and then kills what it left behind. Blocks. Returns `None`
    /// if other code has reaped the process.
    pub fn wait(&self) -> Option<Exit> {
        // The lock is not held meanwhile, so that the process can be killed.
        system::wait_for_end(self.pid);
        self.leader().reap()
    }

    fn leader(&self) -> MutexGuard<'_, Leader> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
