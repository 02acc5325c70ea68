//! Backend of macOS: kqueue and the calls of `libproc`. It was compiled, but never run.
//!
//! The crate `libproc` is not used: its build needs the system's headers.

mod guard;
mod processes;
mod starvation;
mod this_process;

use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::mpsc;

use nix::libc;

pub(super) use crate::no_cell::{Cell, limit_open_files, open_deleted_files};
pub(super) use guard::{GUARD_SCRIPT, table};
pub(super) use processes::{
    Held, Stat, children_of, children_of_thread, end_descriptor, everyone, holds_pipe,
    private_bytes,
};
pub(super) use starvation::Starvation;
pub(super) use this_process::ignores_children;
pub use this_process::{harden, harden as harden_worker};

/// `POSIX_SPAWN_SETSID` of `spawn.h`, which `libc` has no name for.
const POSIX_SPAWN_SETSID: i32 = 0x0400;

/// Flags of `posix_spawn`: a session of its own, and no descriptor that the file actions do not name.
pub(super) const SPAWN_FLAGS: i32 = POSIX_SPAWN_SETSID | libc::POSIX_SPAWN_CLOEXEC_DEFAULT;

/// True: the system enforces no limit of memory, so that it must be measured.
pub(super) const MEASURES_MEMORY: bool = true;

/// Returns the open descriptors above 2 that a child would inherit: none, see [`SPAWN_FLAGS`].
pub(super) fn inherited_descriptors() -> &'static [RawFd] {
    &[]
}

/// Work of a thread with its own working directory.
pub(super) type Errand = Box<dyn FnOnce() + Send>;

/// Returns `None`: no thread has its own working directory, so a shell enters it.
pub(super) fn folder_thread() -> Option<&'static mpsc::Sender<Errand>> {
    None
}

/// Returns false: no file of macOS is an answer of the kernel.
pub(super) fn is_of_the_kernel(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Returns the owner of files of users outside of our namespace: there are no namespaces.
pub(super) fn owner_of_unmapped() -> Option<u32> {
    None
}

/// Returns false: no control group limits processors on this system.
pub fn can_limit_processors() -> bool {
    false
}

/// Returns true if memory limits of whole trees are possible on this system: they are measured.
pub fn can_limit_trees() -> bool {
    true
}
