//! The first process of a tree, and the job that holds the tree.

use std::process::Child;

use super::job::Job;
use super::processes::KILLED;
use super::{Descriptor, Pid};
use crate::Leftovers;
use crate::finished::Exit;

pub(crate) struct Leader {
    pid: Pid,
    child: Child,
    job: Job,
    /// True if the whole tree must end with the leader, even if the leader ends first.
    is_doomed: bool,
    /// Keeps others from changing the program.
    _held: Vec<Descriptor>,
}

impl Leader {
    pub(super) fn new(child: Child, job: Job, leftovers: Leftovers, held: Vec<Descriptor>) -> Self {
        Self {
            pid: Pid(child.id()),
            child,
            job,
            is_doomed: leftovers == Leftovers::Kill,
            _held: held,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns true if the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the tree: the system has no request to end that every program gets.
    pub(crate) fn ask_tree(&mut self) {
        self.kill_tree();
    }

    /// Kills every process of the tree, even if the leader has ended.
    pub(crate) fn kill_tree(&mut self) {
        self.is_doomed = true;
        self.job.kill(KILLED);
    }

    /// Does nothing: every process that could hold an output was in the job.
    pub(crate) fn kill_holders(&self) {}

    /// Returns the exit status; `None` while the process runs.
    pub(crate) fn reap(&mut self) -> Option<Exit> {
        let status = self.child.try_wait().ok()??;
        status.code().map(Exit::Code)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if !self.is_doomed && self.has_ended() {
            self.job.release();
        }
        // Otherwise the job kills its processes when it is closed.
    }
}
