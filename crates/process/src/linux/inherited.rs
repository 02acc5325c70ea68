//! State inherited from our parent process, as `/proc/self` shows it.

use std::os::fd::RawFd;
use std::sync::LazyLock;

/// The bit of `O_CLOEXEC` in `/proc/self/fdinfo`.
const CLOEXEC: u32 = nix::libc::O_CLOEXEC.cast_unsigned();

/// Returns the open descriptors above 2 that a child would inherit.
///
/// They are read once. Rust opens every descriptor with CLOEXEC, so only inherited descriptors can
/// leak into a child. The list misses a descriptor that a C library opens later without the flag. A
/// new scan before each start would cost a tenth of the start.
pub(crate) fn inherited_descriptors() -> &'static [RawFd] {
    static FOUND: LazyLock<Vec<RawFd>> = LazyLock::new(|| {
        let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|descriptor| *descriptor > 2 && is_inheritable(*descriptor))
            .collect()
    });
    &FOUND
}

fn is_inheritable(descriptor: RawFd) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}"));
    let flags = info.ok().and_then(|info| {
        let octal = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        u32::from_str_radix(octal.trim(), 8).ok()
    });
    flags.is_some_and(|flags| flags & CLOEXEC == 0)
}

/// Returns true if SIGCHLD is ignored, so that the system reaps our children itself.
pub(crate) fn ignores_children() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & (1 << (nix::libc::SIGCHLD - 1)) != 0)
}
