//! Registry of the children that end with this process: those that this module started, and those
//! that the threads of isolates started directly (`node:child_process`).
//!
//! A program that embeds haft has children of its own, so the parent alone does not identify ours.
//! A child that a tool detached and released is not included: it is meant to outlive this process.

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nix::unistd::{self, getsid};
use rustix::process::{Pid, Signal};

use super::descendants::Strays;
use super::guard;
use super::kernel::{Held, Stat, children_of, children_of_thread};

static OWNED: LazyLock<Mutex<Owned>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Owned {
    /// The first processes of the trees that this module started and has not reaped.
    leaders: BTreeSet<i32>,
    /// Threads of isolates that may have started programs.
    threads: BTreeSet<i32>,
    /// Children that outlive this process, with their start times.
    released: HashMap<i32, u64>,
}

/// Registers a child.
pub(super) fn leader_started(pid: Pid) {
    owned().leaders.insert(pid.as_raw_pid());
    guard::wake(current);
}

/// Removes a child that has ended, before its number can be reused.
pub(super) fn leader_ended(pid: Pid) {
    owned().leaders.remove(&pid.as_raw_pid());
}

/// Registers that the thread `thread_id` of this process is about to start a program.
pub fn thread_starts_program(thread_id: i32) {
    owned().threads.insert(thread_id);
    guard::wake(current);
}

/// Lets a child outlive this process. The tool detached it, so it leads its own session. A child
/// that does not lead a session still ends with this process.
pub fn release_child(pid: i32) {
    let Some(process) = Pid::from_raw(pid).filter(|pid| leads_session(*pid)) else {
        return;
    };
    let Some(stat) = Stat::of(process).filter(|stat| stat.parent == rustix::process::getpid())
    else {
        return;
    };
    let mut owned = owned();
    if owned.leaders.contains(&pid) {
        return;
    }
    owned.released.insert(pid, stat.started);
    drop(owned);
    guard::update(current);
}

/// Kills every process that the thread `thread_id` of this process started, with all processes
/// below it, except released ones.
pub fn kill_children_of_thread(thread_id: i32) {
    let mut owned = owned();
    owned.threads.remove(&thread_id);
    let children = owned.of_thread(thread_id);
    drop(owned);
    children.iter().for_each(|(child, _)| kill_tree(*child));
}

/// Returns true if a process that this one started exists, be it only to be reaped.
pub fn has_children() -> bool {
    !children_of(rustix::process::getpid()).is_empty()
}

/// Kills everything that ends with this process, at once. Called at the end of a process that did
/// not stop its calls in order: the user was in a hurry, or haft failed.
pub fn kill_all() {
    let children = current();
    children.iter().for_each(|(child, _)| kill_tree(*child));
}

/// Returns the processes that end with this process, with their start times.
fn current() -> Vec<(Pid, u64)> {
    let owned = owned();
    let leaders = owned.leaders.iter().filter_map(|pid| {
        let pid = Pid::from_raw(*pid)?;
        Some((pid, Stat::of(pid)?.started))
    });
    let mut all: Vec<_> = leaders.collect();
    for thread in &owned.threads {
        let theirs = owned.of_thread(*thread);
        all.extend(theirs.into_iter().filter(|(pid, _)| {
            // Already in the list.
            !owned.leaders.contains(&pid.as_raw_pid())
        }));
    }
    all
}

impl Owned {
    /// Returns the children of a thread, except released ones, with their start times.
    fn of_thread(&self, thread_id: i32) -> Vec<(Pid, u64)> {
        let children = children_of_thread(thread_id).into_iter().filter_map(|pid| {
            let started = Stat::of(pid)?.started;
            let is_released = self.released.get(&pid.as_raw_pid()) == Some(&started);
            (!is_released).then_some((pid, started))
        });
        children.collect()
    }
}

fn owned() -> MutexGuard<'static, Owned> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn leads_session(pid: Pid) -> bool {
    let number = unistd::Pid::from_raw(pid.as_raw_pid());
    getsid(Some(number)) == Ok(number)
}

/// Kills a child, its session if it leads one, and all processes below.
pub(crate) fn kill_tree(child: Pid) {
    let Some(held) = Held::open(child) else {
        return;
    };
    // Stopped first, from the top: a stopped process starts and reaps no other.
    held.signal(Signal::STOP);
    let mut tree = Strays::tree(child, &Strays::default());
    tree.freeze(|known| Strays::tree(child, known));
    held.signal(Signal::KILL);
    tree.signal(Signal::KILL);
}
