//! The interface of control groups on systems without them.

use std::convert::Infallible;
use std::path::PathBuf;

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
