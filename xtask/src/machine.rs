//! Properties of this machine: its user, its package manager, its cores and its memory.

use std::fs;
use std::process::Command;
use std::thread;

use crate::command;

/// Peak memory of one compiler job of a V8 build, with some reserve.
const GIB_PER_JOB: u64 = 2;

pub struct Machine {
    /// Set if we are root and may install packages.
    pub root: bool,
    /// Set if Debian's package manager is installed.
    pub apt: bool,
}

impl Machine {
    pub fn look() -> Self {
        let user = command::output(Command::new("id").arg("-u"));
        Self {
            root: user.is_ok_and(|id| id.trim() == "0"),
            apt: command::on_path("apt-get").is_some(),
        }
    }
}

/// Returns the number of parallel compilers: one for each core, fewer if memory is short.
pub fn jobs() -> u64 {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let by_memory = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available_gib(&text))
        .map_or(cores, |gib| gib / GIB_PER_JOB);
    cores.min(by_memory).max(1)
}

fn available_gib(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024 / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_kernels_table() {
        let table = "MemTotal:       24689376 kB\nMemAvailable:   12582912 kB\n";
        assert_eq!(available_gib(table), Some(12));
        assert_eq!(available_gib("MemTotal: 5 kB\n"), None);
    }
}
