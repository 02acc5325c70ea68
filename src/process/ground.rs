//! What our own parent left us, looked at once: descriptors without CLOEXEC, an ignored SIGCHLD.
//!
//! Everything that Rust opens is CLOEXEC, so only what we were born with can leak into a child. A
//! C library that later opens a descriptor without the flag would escape this list: looking anew
//! before each start costs a tenth of the start.

use std::os::fd::RawFd;
use std::sync::{LazyLock, Once};

use tokio::signal::unix::{SignalKind, signal};

/// The bit of `O_CLOEXEC` in `/proc/self/fdinfo`.
const CLOEXEC: u32 = nix::libc::O_CLOEXEC.cast_unsigned();

/// The open descriptors above 2 that a child would inherit.
pub(super) fn inherited_descriptors() -> &'static [RawFd] {
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

/// Makes sure that the system keeps our children until we reap them.
///
/// A parent that ignores SIGCHLD hands that down, and then the system reaps behind our back: exit
/// codes are lost and process numbers can change hands. Any handler ends it, and tokio's stays for
/// good once it is set.
pub(super) fn keep_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = ignores_children()
            .then(|| signal(SignalKind::child()))
            .transpose()
        {
            tracing::warn!(%error, "SIGCHLD is ignored and cannot be restored");
        }
    });
}

fn ignores_children() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & (1 << (nix::libc::SIGCHLD - 1)) != 0)
}
