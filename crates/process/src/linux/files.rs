//! Files that belong to the kernel, and the owner of files of users outside of our namespace.

use std::fs;
use std::io;
use std::path::Path;

/// File systems whose files are answers of the kernel: proc, sysfs, debugfs, tracefs, securityfs,
/// both versions of cgroup, bpf, configfs, efivarfs, pstore.
const KERNEL_FILE_SYSTEMS: &[u32] = &[
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6367_7270,
    0x0027_e0eb,
    0xcafe_4a11,
    0x6265_6570,
    0xde5e_81e4,
    0x6165_676c,
];

/// Returns true if the file is an answer of the kernel.
pub(crate) fn is_of_the_kernel(path: &Path) -> io::Result<bool> {
    let system = rustix::fs::statfs(path)?;
    // Another width and sign on each machine; all numbers have 32 bits.
    let kind = system.f_type as u32;
    Ok(KERNEL_FILE_SYSTEMS.contains(&kind))
}

/// The owner that files of users outside of our user namespace seem to have; nothing where all users
/// are in it.
pub(crate) fn owner_of_unmapped() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let counts = map
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    if counts.sum::<u64>() >= u64::from(u32::MAX) {
        return None;
    }
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    overflow.trim().parse().ok()
}
