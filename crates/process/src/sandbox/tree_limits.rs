//! Limits of a process tree by measuring: memory without a usable control group, processes, and the
//! private temporary folder.
//!
//! The kernel counts processes for each user and not at all for root, and the size of a folder
//! nowhere. A tree that exceeds a limit is killed, so it can be exceeded for up to 250 ms.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use crate::system::{self, Pid, Stat, children_of, open_deleted_files, private_bytes, session_of};

/// Assumed limit of the rate at which a tree can touch new memory, in bytes per millisecond. It
/// decides when the next measurement is due.
const GROWTH_RATE: u64 = (2 << 30) / 1000;

/// Assumed limit of the rate at which a tree starts processes, in processes per millisecond.
const START_RATE: usize = 4;

const MIN_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_millis(250);

/// Limit of the processes that are measured. A tree with more is not a tree of normal use, and its
/// measured part counts.
const MAX_MEASURED: usize = 4096;

/// Number of measurements of which one looks for processes whose parents have ended.
const LOOKS_PER_SCAN: u32 = 4;

/// Bytes that each entry of a folder counts as at least, so that empty files count, too.
const ENTRY_BYTES: u64 = 4096;

/// Limits of a process and all processes below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeLimits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Number of processes.
    pub processes: Option<usize>,
    /// Bytes on the disk in the private temporary folder of its sandbox.
    pub temporary_bytes: Option<u64>,
}

/// Limit that a tree has exceeded, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceededLimit {
    /// Bytes of memory.
    Memory(u64),
    /// Number of processes.
    Processes(usize),
    /// Bytes on the disk in the private temporary folder.
    TemporaryFiles(u64),
}

/// Waits until the process, without those below it, uses more than `limit` bytes of memory, and
/// returns the number of bytes. If the process ends, this waits for ever.
pub async fn process_memory_exceeded(pid: i32, limit: u64) -> u64 {
    exceeded(limit, || Pid::from_raw(pid).map_or(0, private_bytes)).await
}

/// Waits until the process and all processes below it exceed one of the limits. `tmp` is their
/// private temporary folder. If the process ends, this waits for ever.
pub async fn tree_exceeded(pid: i32, limits: TreeLimits, tmp: Option<PathBuf>) -> ExceededLimit {
    let mut tree = Tree::default();
    let mut memory = 0;
    loop {
        sleep(limits.interval(memory, tree.processes.len())).await;
        memory = tree.measure(pid);
        if let Some(exceeded) = limits.exceeded(&tree, memory, tmp.as_deref()).await {
            return exceeded;
        }
    }
}

/// Keeps the limits of the processes that a program left in its session when it ended: kills them
/// when they exceed one. Returns when all of them have ended.
pub(crate) async fn watch_session(leader: Pid, limits: TreeLimits, tmp: Option<PathBuf>) {
    let mut tree = Tree::default();
    loop {
        let memory = tree.measure(leader.as_raw_pid());
        if tree.processes.is_empty() {
            return;
        }
        if let Some(exceeded) = limits.exceeded(&tree, memory, tmp.as_deref()).await {
            tracing::warn!(?exceeded, "processes that a program left behind were ended");
            system::kill_session(leader);
            if let (ExceededLimit::TemporaryFiles(_), Some(tmp)) = (exceeded, &tmp) {
                empty_folder(tmp.clone()).await;
            }
        }
        sleep(MAX_INTERVAL).await;
    }
}

impl TreeLimits {
    /// Returns the time after which the limits can be exceeded.
    fn interval(&self, memory: u64, processes: usize) -> Duration {
        let memory = self
            .memory
            .map(|limit| limit.saturating_sub(memory) / GROWTH_RATE);
        let processes = self
            .processes
            .map(|limit| (limit.saturating_sub(processes) / START_RATE) as u64);
        let due = memory.into_iter().chain(processes).min();
        due.map_or(MAX_INTERVAL, Duration::from_millis)
            .clamp(MIN_INTERVAL, MAX_INTERVAL)
    }

    async fn exceeded(
        &self,
        tree: &Tree,
        memory: u64,
        tmp: Option<&Path>,
    ) -> Option<ExceededLimit> {
        if let Some(limit) = self.memory.filter(|limit| memory > *limit) {
            return Some(ExceededLimit::Memory(limit));
        }
        let processes = tree.processes.len();
        if let Some(limit) = self.processes.filter(|limit| processes > *limit) {
            return Some(ExceededLimit::Processes(limit));
        }
        let (tmp, limit) = tmp.zip(self.temporary_bytes)?;
        let is_used = std::fs::read_dir(tmp).is_ok_and(|mut entries| entries.next().is_some());
        let deleted = tree.deleted_bytes(tmp);
        if !is_used && deleted <= limit {
            return None;
        }
        let folder = tmp.to_owned();
        let measured = tokio::task::spawn_blocking(move || bytes_on_disk(&folder, limit)).await;
        let is_exceeded = measured.is_ok_and(|bytes| bytes.saturating_add(deleted) > limit);
        is_exceeded.then_some(ExceededLimit::TemporaryFiles(limit))
    }
}

/// Waits until the process and all processes below it use more than `limit` bytes of memory.
async fn memory_exceeded(pid: i32, limit: u64) -> u64 {
    let mut tree = Tree::default();
    exceeded(limit, || tree.measure(pid)).await
}

async fn exceeded(limit: u64, mut measure: impl FnMut() -> u64) -> u64 {
    let limits = TreeLimits {
        memory: Some(limit),
        ..TreeLimits::default()
    };
    loop {
        let used = measure();
        if used > limit {
            return used;
        }
        sleep(limits.interval(used, 0)).await;
    }
}

/// Returns the bytes that the files below a folder take on the disk, counted until they are more
/// than `limit`.
fn bytes_on_disk(folder: &Path, limit: u64) -> u64 {
    let (mut total, mut folders) = (0u64, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            // A link is not followed.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            total = total.saturating_add(system::bytes_on_disk(&found).max(ENTRY_BYTES));
            if total > limit {
                return total;
            }
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    total
}

/// Removes what is in a private temporary folder that took too much of the disk: otherwise no later
/// program of the sandbox could run. What cannot be removed goes with the sandbox.
pub async fn empty_folder(folder: PathBuf) {
    let removed = tokio::task::spawn_blocking(move || {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_folder {
                std::fs::remove_dir_all(entry.path())
            } else {
                std::fs::remove_file(entry.path())
            };
            if let Err(error) = removed {
                tracing::debug!(%error, path = %entry.path().display(), "a temporary file is left");
            }
        }
    });
    // It fails only with the runtime.
    let _ = removed.await;
}

/// Kills the process and all processes below it when they use more than `limit` bytes of memory.
/// Returns the number of bytes then.
pub async fn watch_memory(pid: i32, limit: u64) -> u64 {
    let used = memory_exceeded(pid, limit).await;
    if let Some(pid) = Pid::from_raw(pid) {
        system::kill_tree(pid);
    }
    used
}

/// Returns the bytes of memory that the process and all processes below it use now. Pages that they
/// share with other processes or with files are not counted.
pub fn tree_memory(pid: i32) -> u64 {
    Tree::default().measure(pid)
}

/// Processes of a tree that were seen. A process stays in the tree when its parent ends.
#[derive(Default)]
struct Tree {
    /// Their start times by their numbers.
    processes: HashMap<i32, u64>,
    /// Number of measurements.
    looks: u32,
}

impl Tree {
    fn measure(&mut self, root: i32) -> u64 {
        let started = |pid| Stat::of(pid).map(|stat| stat.started);
        // A number can be reused by a process that is not in the tree.
        self.processes.retain(|pid, since| {
            let pid = Pid::from_raw(*pid);
            pid.and_then(started).is_some_and(|start| start == *since)
        });
        let mut waiting: Vec<Pid> = self
            .processes
            .keys()
            .filter_map(|pid| Pid::from_raw(*pid))
            .collect();
        waiting.extend(Pid::from_raw(root));
        // A parent may have ended before its children were seen. That looks at every process of
        // the machine, so it is not done each time.
        if self.looks.is_multiple_of(LOOKS_PER_SCAN) {
            waiting.extend(Pid::from_raw(root).into_iter().flat_map(session_of));
        }
        self.looks = self.looks.wrapping_add(1);
        let mut measured = HashMap::new();
        let mut total = 0u64;
        while let Some(pid) = waiting.pop() {
            if measured.len() >= MAX_MEASURED || measured.contains_key(&pid.as_raw_pid()) {
                continue;
            }
            let Some(since) = started(pid) else {
                continue;
            };
            measured.insert(pid.as_raw_pid(), since);
            total = total.saturating_add(private_bytes(pid));
            waiting.extend(children_of(pid));
        }
        self.processes = measured;
        total
    }
    /// Returns the bytes of files below a folder that are deleted and still open.
    fn deleted_bytes(&self, folder: &Path) -> u64 {
        let pids = self.processes.keys().filter_map(|pid| Pid::from_raw(*pid));
        let files: HashSet<_> = pids
            .flat_map(|pid| open_deleted_files(pid, folder))
            .collect();
        files.into_iter().map(|(_, bytes)| bytes).sum()
    }
}
