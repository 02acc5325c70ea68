//! Limits of memory and processors of a whole process tree: each child with such a limit gets its own
//! control groups.
//!
//! Both versions of control groups are supported. A group can be made below our own group if the
//! controller is delegated there, else beside it. A group of version 2 that contains processes does
//! not delegate controllers, so often neither is possible. The caller then limits the memory of each
//! process instead of the tree, and the processors by their affinity only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Pid;

/// Control groups of one tree: one for each limit, unless one group can have both. Dropping it
/// removes the groups.
#[derive(Debug)]
pub(crate) struct Cell {
    memory: Option<Group>,
    processors: Option<Group>,
}

/// Control group. Dropping it removes it.
#[derive(Debug)]
struct Group {
    path: PathBuf,
    version: Version,
}

/// Limit that a controller enforces.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// In bytes.
    Memory(u64),
    Processors(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Parent group in which groups can be made.
struct Place {
    parent: PathBuf,
    version: Version,
}

/// Number of attempts to remove the group of an ended tree. What the kernel still holds is gone
/// within milliseconds; a process left in the background stays longer.
const REMOVALS: u32 = 20;

/// Number of attempts that are made at once, a millisecond apart.
const READS_PER_SAMPLE: u32 = 10;

/// Length of the time in which a group uses its share of the processors, in microseconds. It is the
/// kernel's default.
const PERIOD_US: usize = 100_000;

impl Cell {
    /// Makes new groups with these limits; returns `None` if the system allows none of them.
    pub(crate) fn with_limits(memory: Option<u64>, processors: Option<usize>) -> Option<Cell> {
        let memory = memory.and_then(|bytes| Group::with(Limit::Memory(bytes)));
        let processors = processors.and_then(|count| {
            let limit = Limit::Processors(count);
            // A process is in one group of version 2.
            match &memory {
                Some(group) if group.version == Version::Two && group.limit(limit).is_ok() => None,
                _ => Group::with(limit),
            }
        });
        (memory.is_some() || processors.is_some()).then_some(Cell { memory, processors })
    }

    /// Returns the files through which a process enters the groups by writing `0`.
    pub(crate) fn entrances(&self) -> Vec<PathBuf> {
        let groups = self.groups();
        groups
            .map(|group| group.path.join("cgroup.procs"))
            .collect()
    }

    /// Puts a process into the groups, which has started nothing yet.
    pub(crate) fn put(&self, process: Pid) -> io::Result<()> {
        let number = process.as_raw_pid().to_string();
        let mut files = self.entrances().into_iter();
        files.try_for_each(|file| fs::write(file, &number))
    }

    /// Returns true if it limits the memory.
    pub(crate) fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns true if the kernel killed a process of the tree for lack of memory.
    pub(crate) fn ran_out(&self) -> bool {
        self.memory.as_ref().is_some_and(Group::ran_out)
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
        self.memory.iter().chain(&self.processors)
    }
}

impl Limit {
    /// Returns the name of the controller.
    fn controller(self) -> &'static str {
        match self {
            Limit::Memory(_) => "memory",
            Limit::Processors(_) => "cpu",
        }
    }
}

impl Group {
    fn with(limit: Limit) -> Option<Group> {
        let made = Group::below(place(limit)?, limit);
        made.inspect_err(|error| tracing::debug!(%error, ?limit, "no control group"))
            .ok()
    }

    fn below(place: &Place, limit: Limit) -> io::Result<Group> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = place
            .parent
            .join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Group {
            path,
            version: place.version,
        };
        group.limit(limit)?;
        Ok(group)
    }

    fn limit(&self, limit: Limit) -> io::Result<()> {
        match (limit, self.version) {
            (Limit::Memory(bytes), Version::One) => {
                let bytes = bytes.to_string();
                self.set("memory.limit_in_bytes", &bytes)?;
                // Without this limit the tree could use as much swap again. Not every kernel counts
                // swap.
                let _ = self.set("memory.memsw.limit_in_bytes", &bytes);
            }
            (Limit::Memory(bytes), Version::Two) => {
                self.set("memory.max", &bytes.to_string())?;
                let _ = self.set("memory.swap.max", "0");
                // If one process is killed, the rest of the tree is useless, so the whole group is
                // killed.
                let _ = self.set("memory.oom.group", "1");
            }
            (Limit::Processors(count), Version::One) => {
                self.set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                let quota = count.saturating_mul(PERIOD_US);
                self.set("cpu.cfs_quota_us", &quota.to_string())?;
            }
            (Limit::Processors(count), Version::Two) => {
                let quota = count.saturating_mul(PERIOD_US);
                self.set("cpu.max", &format!("{quota} {PERIOD_US}"))?;
            }
        }
        Ok(())
    }

    /// Returns true if the kernel killed a process of the group for lack of memory.
    fn ran_out(&self) -> bool {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        text.lines().any(|line| {
            let count = line.strip_prefix("oom_kill ");
            count.is_some_and(|count| count.trim() != "0")
        })
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.path.join(file), value)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel counts a process that has just ended for another moment.
        for _ in 0..READS_PER_SAMPLE {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let path = std::mem::take(&mut self.path);
        let remover = std::thread::Builder::new().name("haft-cell".to_owned());
        let spawned = remover.spawn(move || {
            for _ in 0..REMOVALS {
                std::thread::sleep(Duration::from_millis(50));
                if fs::remove_dir(&path).is_ok() {
                    return;
                }
            }
            tracing::debug!(path = %path.display(), "a control group is still in use");
        });
        if let Err(error) = spawned {
            tracing::debug!(%error, "no thread to remove a control group");
        }
    }
}

/// Returns true if memory limits of whole trees are possible on this system.
pub fn can_limit_trees() -> bool {
    place(Limit::Memory(0)).is_some()
}

/// Returns true if control groups that limit processors are possible on this system.
pub fn can_limit_processors() -> bool {
    place(Limit::Processors(0)).is_some()
}

const PREFIX: &str = "haft-";

/// Finds the parent group for such a limit once, by making a group there.
fn place(limit: Limit) -> Option<&'static Place> {
    static MEMORY: OnceLock<Option<Place>> = OnceLock::new();
    static PROCESSORS: OnceLock<Option<Place>> = OnceLock::new();
    let (place, trial) = match limit {
        Limit::Memory(_) => (&MEMORY, Limit::Memory(u64::from(u32::MAX))),
        Limit::Processors(_) => (&PROCESSORS, Limit::Processors(1)),
    };
    let found = place.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let controller = limit.controller();
        let candidates = candidates(&mounts, &groups, controller);
        let place = candidates.into_iter().find(|place| {
            if place.version == Version::Two {
                // This only works if our group contains no processes. An attempt costs nothing.
                let control = place.parent.join("cgroup.subtree_control");
                let _ = fs::write(control, format!("+{controller}"));
            }
            Group::below(place, trial).is_ok()
        })?;
        collector(&place.parent);
        Some(place)
    });
    found.as_ref()
}

/// Removes the groups of earlier haft processes that were killed.
fn collector(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| {
            let (owner, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
            owner.parse::<u32>().ok()
        });
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            // The system refuses if the group still contains a process.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns our own group and the one above it, for each hierarchy that may have the controller.
fn candidates(mounts: &str, groups: &str, controller: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(root), Some(point)) = (left.get(3), left.get(4)) else {
            continue;
        };
        let (version, own) = match right.as_slice() {
            ["cgroup2", ..] => (Version::Two, own_group(groups, "")),
            ["cgroup", _, options] if options.split(',').any(|own| own == controller) => {
                (Version::One, own_group(groups, controller))
            }
            _ => continue,
        };
        let Some(own) = own else { continue };
        // A container sees its part of the hierarchy as the whole hierarchy.
        let below = own.strip_prefix(root).unwrap_or(own);
        let parent = Path::new(point).join(below.trim_start_matches('/'));
        let above = parent.parent().map(Path::to_owned);
        let above = above.filter(|above| above.starts_with(point));
        for parent in [Some(parent), above].into_iter().flatten() {
            places.push(Place { parent, version });
        }
    }
    places
}

/// Returns the path of our group in the hierarchy with that controller; `""` is version 2.
fn own_group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = controllers.split(',').any(|own| own == controller);
        is_it.then_some(path)
    })
}
