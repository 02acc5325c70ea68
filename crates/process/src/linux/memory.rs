//! Memory limit of a whole process tree: each child with such a limit gets its own control group.
//!
//! Both versions of control groups are supported. A group can be made below our own group if the
//! memory controller is delegated there, else beside it. A group of version 2 that contains
//! processes does not delegate controllers, so often neither is possible. The caller then limits
//! each process instead of the tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Control group of one tree. Dropping it removes the group.
#[derive(Debug)]
pub(crate) struct Cell {
    path: PathBuf,
    version: Version,
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

impl Cell {
    /// Makes a new group with this limit; returns `None` if the system does not allow that.
    pub(crate) fn with_limit(bytes: u64) -> Option<Cell> {
        let place = place()?;
        match Cell::below(place, bytes) {
            Ok(cell) => Some(cell),
            Err(error) => {
                tracing::debug!(%error, "no control group for a limit of memory");
                None
            }
        }
    }

    fn below(place: &Place, bytes: u64) -> io::Result<Cell> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = place
            .parent
            .join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let cell = Cell {
            path,
            version: place.version,
        };
        let limit = bytes.to_string();
        match cell.version {
            Version::One => {
                cell.set("memory.limit_in_bytes", &limit)?;
                // Without this limit the tree could use as much swap again. Not every kernel counts
                // swap.
                let _ = cell.set("memory.memsw.limit_in_bytes", &limit);
            }
            Version::Two => {
                cell.set("memory.max", &limit)?;
                let _ = cell.set("memory.swap.max", "0");
                // If one process is killed, the rest of the tree is useless, so the whole group is
                // killed.
                let _ = cell.set("memory.oom.group", "1");
            }
        }
        Ok(cell)
    }

    /// Returns the file through which a process enters the group by writing `0`.
    pub(crate) fn entrance(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Returns true if the kernel killed a process of the group for lack of memory.
    pub(crate) fn ran_out(&self) -> bool {
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

impl Drop for Cell {
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
    place().is_some()
}

const PREFIX: &str = "haft-";

/// Finds the parent group once, by making a group there.
fn place() -> Option<&'static Place> {
    static PLACE: OnceLock<Option<Place>> = OnceLock::new();
    let found = PLACE.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let place = candidates(&mounts, &groups).into_iter().find(|place| {
            if place.version == Version::Two {
                // This only works if our group contains no processes. An attempt costs nothing.
                let _ = fs::write(place.parent.join("cgroup.subtree_control"), "+memory");
            }
            Cell::below(place, u64::from(u32::MAX)).is_ok()
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

/// Returns our own group and the one above it, for each hierarchy that may count memory.
fn candidates(mounts: &str, groups: &str) -> Vec<Place> {
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
            ["cgroup", _, options] if options.split(',').any(|own| own == "memory") => {
                (Version::One, own_group(groups, "memory"))
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
