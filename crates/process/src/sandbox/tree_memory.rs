//! Memory limit of a process tree by measuring, for systems without a usable control group.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::system::{self, Pid, Stat, children_of, private_bytes};

/// Assumed limit of the rate at which a tree can touch new memory, in bytes per second. It decides
/// when the next measurement is due.
const GROWTH_RATE: u64 = 2 << 30;

const MIN_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_millis(250);

/// Limit of the processes that are measured. A tree with more is not a tree of normal use, and its
/// measured part counts.
const MAX_MEASURED: usize = 4096;

/// Waits until the process, without those below it, uses more than `limit` bytes of memory, and
/// returns the number of bytes. If the process ends, this waits for ever.
pub async fn process_memory_exceeded(pid: i32, limit: u64) -> u64 {
    exceeded(limit, || Pid::from_raw(pid).map_or(0, private_bytes)).await
}

/// Waits until the process and all processes below it use more than `limit` bytes of memory, and
/// returns the number of bytes. If the process ends, this waits for ever.
///
/// The kernel kills no process for this limit, so a tree can use more than `limit` for up to 250 ms.
pub async fn memory_exceeded(pid: i32, limit: u64) -> u64 {
    let mut tree = Tree::default();
    exceeded(limit, || tree.measure(pid)).await
}

/// Limits of a process and all processes below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Bytes of memory.
    pub memory: u64,
    /// Number of processes.
    pub processes: usize,
}

/// Limit that a tree has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Memory.
    Memory,
    /// Processes.
    Processes,
}

/// Waits until the process and all processes below it exceed one of the limits. If the process
/// ends, this waits for ever. As with [`memory_exceeded`], this is noticed within 250 ms.
pub async fn tree_exceeded(pid: i32, limits: TreeLimits) -> Excess {
    let (mut tree, mut excess) = (Tree::default(), Excess::Memory);
    exceeded(limits.memory, || {
        let used = tree.measure(pid);
        if tree.0.len() > limits.processes {
            excess = Excess::Processes;
            return u64::MAX;
        }
        used
    })
    .await;
    excess
}

async fn exceeded(limit: u64, mut measure: impl FnMut() -> u64) -> u64 {
    loop {
        let used = measure();
        if used > limit {
            return used;
        }
        let left = (limit - used).saturating_mul(1000) / GROWTH_RATE;
        sleep(Duration::from_millis(left).clamp(MIN_INTERVAL, MAX_INTERVAL)).await;
    }
}

/// Kills the process and all processes below it when they use more than `limit` bytes of memory.
/// Returns the number of bytes then, as [`memory_exceeded`].
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
struct Tree(HashMap<i32, u64>);

impl Tree {
    fn measure(&mut self, root: i32) -> u64 {
        let started = |pid| Stat::of(pid).map(|stat| stat.started);
        // A number can be reused by a process that is not in the tree.
        self.0.retain(|pid, since| {
            let pid = Pid::from_raw(*pid);
            pid.and_then(started).is_some_and(|start| start == *since)
        });
        let mut waiting: Vec<Pid> = self
            .0
            .keys()
            .filter_map(|pid| Pid::from_raw(*pid))
            .collect();
        waiting.extend(Pid::from_raw(root));
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
        self.0 = measured;
        total
    }
}
