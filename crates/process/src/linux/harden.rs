//! Protects the program's own process from the programs that it starts.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

/// Closes `/proc/PID/fd`, `/proc/PID/mem`, `/proc/PID/environ` and `ptrace` of this process to
/// other processes of the same user. Otherwise a tool's child could write into our output through
/// them.
///
/// The kernel treats a process that is not dumpable like one of root. Root itself would still get
/// access, so programs that haft starts as root lose `CAP_SYS_PTRACE`. They can still trace their
/// own children. This must run before the first thread is started. Afterwards the process
/// writes no core dumps, and a debugger must run as root.
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

/// Does the same for a process that runs code of tools, which also loses `CAP_SYS_PTRACE` itself:
/// with it, root's tools could open the descriptors of the process that started theirs.
pub fn harden_worker() {
    harden();
    let dropped = capabilities(None).and_then(|mut sets| {
        for set in [
            &mut sets.effective,
            &mut sets.permitted,
            &mut sets.inheritable,
        ] {
            set.remove(CapabilitySet::SYS_PTRACE);
        }
        set_capabilities(None, sets)
    });
    if let Err(error) = dropped {
        tracing::debug!(%error, "tools can look into the process that started theirs");
    }
}
