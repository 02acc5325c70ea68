//! Processes of the machine, as `/proc` shows them.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open, pidfd_send_signal};

/// A process, held by a descriptor: a signal never reaches another process of the same number.
pub(crate) struct Held {
    pid: Pid,
    descriptor: OwnedFd,
}

impl Held {
    /// Opens a descriptor of a process; `None` if it has ended.
    pub(crate) fn open(pid: Pid) -> Option<Held> {
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        Some(Held { pid, descriptor })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // An error means that the process has ended already.
        let _ = pidfd_send_signal(&self.descriptor, signal);
    }
}

/// Returns a descriptor that becomes readable when the process ends.
pub(crate) fn end_descriptor(process: Pid) -> io::Result<OwnedFd> {
    pidfd_open(process, PidfdFlags::NONBLOCK).map_err(io::Error::from)
}

/// Returns every process that is visible to us.
pub(crate) fn everyone() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| pid(entry.ok()?.file_name().to_str()?))
}

/// Fields of `/proc/PID/stat`.
pub(crate) struct Stat {
    pub(crate) parent: Pid,
    /// Start time in ticks since the system booted.
    pub(crate) started: u64,
}

impl Stat {
    pub(crate) fn of(process: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
        // The name in parentheses may contain anything. The fields after it are counted from 3.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(1);
        let parent = fields.next().and_then(pid)?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { parent, started })
    }
}

/// Returns the children of a process. Each thread has its own list.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid())) else {
        return Vec::new();
    };
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>())
        .collect()
}

/// Returns the children that a thread of this process started.
pub(crate) fn children_of_thread(thread_id: i32) -> Vec<Pid> {
    let path = format!("/proc/self/task/{thread_id}/children");
    let list = fs::read_to_string(path).unwrap_or_default();
    list.split_whitespace().filter_map(pid).collect()
}

/// Returns true if the process holds one of the pipes with these inodes.
pub(crate) fn holds_pipe(process: Pid, inodes: &[u64]) -> bool {
    // The descriptors of another user's process cannot be read, and it must not be killed.
    let open = fs::read_dir(format!("/proc/{}/fd", process.as_raw_pid()));
    open.into_iter().flatten().flatten().any(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let inode = target.to_str().and_then(|name| {
            let inode = name.strip_prefix("pipe:[")?.strip_suffix(']')?;
            inode.parse().ok()
        });
        inode.is_some_and(|inode| inodes.contains(&inode))
    })
}

/// Returns the deleted files below a folder that a process holds open: their numbers, and the bytes
/// that they take on the disk.
pub(crate) fn open_deleted_files(process: Pid, folder: &Path) -> Vec<(u64, u64)> {
    let open = fs::read_dir(format!("/proc/{}/fd", process.as_raw_pid()));
    let open = open.into_iter().flatten().flatten();
    let deleted = open.filter_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?;
        let is_deleted = target
            .as_os_str()
            .as_encoded_bytes()
            .ends_with(b" (deleted)");
        let found = fs::metadata(entry.path()).ok()?;
        (is_deleted && target.starts_with(folder)).then(|| (found.ino(), found.blocks() * 512))
    });
    deleted.collect()
}

/// Limits the files that a process has open at a time, with those that it starts later. A limit
/// that cannot be set is already lower.
pub(crate) fn limit_open_files(process: Pid, count: u64) {
    let of = |known: Option<u64>| Some(known.map_or(count, |known| known.min(count)));
    let now = rustix::process::getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: of(now.current),
        maximum: of(now.maximum),
    };
    let _ = rustix::process::prlimit(Some(process), Resource::Nofile, limit);
}

/// Returns the resident memory of a process without pages of files and shared memory.
pub(crate) fn private_bytes(pid: Pid) -> u64 {
    static PAGE: LazyLock<u64> = LazyLock::new(|| {
        #[allow(
            unsafe_code,
            reason = "the safe functions need more features of their crates"
        )]
        // SAFETY: the call takes a number only.
        let size = unsafe { nix::libc::sysconf(nix::libc::_SC_PAGESIZE) };
        u64::try_from(size).unwrap_or(4096)
    });
    let path = format!("/proc/{}/statm", pid.as_raw_pid());
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut fields = text
        .split(' ')
        .skip(1)
        .map_while(|field| field.parse::<u64>().ok());
    match (fields.next(), fields.next()) {
        (Some(resident), Some(shared)) => resident.saturating_sub(shared) * *PAGE,
        _ => 0,
    }
}

fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}
