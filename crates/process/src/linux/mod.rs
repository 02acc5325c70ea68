//! Backend of Linux: `/proc`, descriptors of processes, control groups, leases of files.

mod control_groups;
mod descriptors;
mod files;
mod folder_thread;
mod guard;
mod harden;
mod inherited;
mod processes;
mod processors;
mod starvation;
mod zygote;

pub(crate) use control_groups::Cell;
pub use control_groups::{can_limit_processors, can_limit_trees};
pub use descriptors::{receive_descriptors, send_descriptors};
pub(super) use files::{is_of_the_kernel, owner_of_unmapped};
pub(super) use folder_thread::{Errand, SPAWN_FLAGS, folder_thread};
pub(super) use guard::{GUARD_SCRIPT, table};
pub use harden::{harden, harden_worker};
pub(super) use inherited::{ignores_children, inherited_descriptors};
pub(super) use processes::{
    Held, Stat, children_of, children_of_thread, end_descriptor, everyone, holds_pipe,
    limit_open_files, open_deleted_files, private_bytes,
};
pub(crate) use processors::{limit_processors, on_processors};
pub(super) use starvation::Starvation;
pub use zygote::{Forked, Zygote, serve_zygote};

/// False: a limit of memory that no control group enforces is set for each process.
pub(super) const MEASURES_MEMORY: bool = false;
