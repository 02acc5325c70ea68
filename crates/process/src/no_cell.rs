//! The interface of control groups on systems without them.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// Control groups of one tree. This system has none, so no value of this type exists.
#[derive(Debug)]
pub(crate) struct Cell(Infallible);

impl Cell {
    /// Returns `None`: the system has no control groups. The memory of a tree is measured instead.
    pub(crate) fn with_limits(_memory: Option<u64>, _processors: Option<usize>) -> Option<Cell> {
        None
    }

    /// Returns the files through which a process enters the groups.
    pub(crate) fn entrances(&self) -> Vec<PathBuf> {
        match self.0 {}
    }

    /// Returns true if it limits the memory.
    pub(crate) fn limits_memory(&self) -> bool {
        match self.0 {}
    }

    /// Returns true if a process of the group was killed for lack of memory.
    pub(crate) fn ran_out(&self) -> bool {
        match self.0 {}
    }
}

/// Does nothing: this system cannot limit another process.
pub(crate) fn limit_open_files<P>(_process: P, _count: u64) {}

/// Returns nothing: the open files of another process are not looked at.
pub(crate) fn open_deleted_files<P>(_process: P, _folder: &Path) -> Vec<(u64, u64)> {
    Vec::new()
}
