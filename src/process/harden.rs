//! Protects the program's own process from the programs that it starts.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// Closes `/proc/PID/fd`, `/proc/PID/mem`, `/proc/PID/environ` and `ptrace` of this process to other
/// processes of its user: a tool's child could write into our output through them.
///
/// Without the right to be dumped the process is for the kernel as one of root. Root itself would pass,
/// so the programs that root's haft starts lose `CAP_SYS_PTRACE`; they can still trace what they start
/// themselves. Must run before the first thread is started. There is no core dump afterwards, and a
/// debugger needs to be root's.
pub fn harden() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!(%error, "other processes of the user can look into this one");
    }
    if rustix::process::geteuid().is_root()
        && let Err(error) = remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE)
    {
        tracing::debug!(%error, "programs of tools can look into this process");
    }
}
