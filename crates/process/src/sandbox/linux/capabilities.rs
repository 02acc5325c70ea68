//! Capabilities of root that programs keep in a sandbox.
//!
//! Some of the others weaken Landlock: with CAP_PERFMON the kernel shows the memory map and the
//! variables of other processes without asking it. `no_new_privs` keeps a program from getting a
//! capability back by `execve`.

use nix::errno::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Capabilities that are about files, users and the network. Each is limited further by the rules
/// of Landlock and by the filter.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW);

/// Returns the capabilities of the calling thread that it keeps.
pub(super) fn kept() -> Result<CapabilitySets, Errno> {
    let mut sets = capabilities(None).map_err(from_rustix)?;
    sets.permitted &= KEPT;
    sets.effective &= KEPT;
    sets.inheritable &= KEPT;
    Ok(sets)
}

/// Leaves the calling thread these capabilities. It allocates nothing.
pub(super) fn set(kept: CapabilitySets) -> Result<(), Errno> {
    set_capabilities(None, kept).map_err(from_rustix)
}

fn from_rustix(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}
