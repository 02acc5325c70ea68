//! A limit of memory for a whole tree: a control group of its own for one child.
//!
//! Both versions of control groups are known. The hard thing is to find a place where one may be
//! made: below our own group where the memory controller is handed down, else beside it. Version 2
//! hands nothing down from a group that has processes itself, so often neither is possible, and
//! then there is no such limit: whoever asked for it falls back to one for each process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A group that one tree runs in. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Cell {
    path: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where groups can be made.
struct Place {
    parent: PathBuf,
    version: Version,
}

/// How often an ended tree's group is tried to be removed; what the kernel still holds is gone
/// within milliseconds, and what a program left in the background is not.
const REMOVALS: u32 = 20;

/// How often at once, a millisecond apart.
const AT_ONCE: u32 = 10;

impl Cell {
    /// A new group with this limit; `None` where the system lets us make none.
    pub(super) fn with_limit(bytes: u64) -> Option<Cell> {
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
                // With swap there would be twice as much; not every kernel counts it.
                let _ = cell.set("memory.memsw.limit_in_bytes", &limit);
            }
            Version::Two => {
                cell.set("memory.max", &limit)?;
                let _ = cell.set("memory.swap.max", "0");
                // A tree that lost a part is of no use.
                let _ = cell.set("memory.oom.group", "1");
            }
        }
        Ok(cell)
    }

    /// The file that a process enters the group by: it writes `0` into it.
    pub(super) fn entrance(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Whether something in it was killed because there was no memory left.
    pub(super) fn ran_out(&self) -> bool {
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
        // What has just ended is still counted for a moment.
        for _ in 0..AT_ONCE {
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

/// Whether a limit can be for a whole tree here.
pub fn can_limit_trees() -> bool {
    place().is_some()
}

const PREFIX: &str = "haft-";

/// The place is looked for once, by making a group there.
fn place() -> Option<&'static Place> {
    static PLACE: OnceLock<Option<Place>> = OnceLock::new();
    let found = PLACE.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let place = candidates(&mounts, &groups).into_iter().find(|place| {
            if place.version == Version::Two {
                // Only where our group has no processes of its own, but asking costs nothing.
                let _ = fs::write(place.parent.join("cgroup.subtree_control"), "+memory");
            }
            Cell::below(place, u64::from(u32::MAX)).is_ok()
        })?;
        sweep(&place.parent);
        Some(place)
    });
    found.as_ref()
}

/// Removes what programs of ours that were killed have left behind.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| {
            let (owner, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
            owner.parse::<u32>().ok()
        });
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            // The system refuses where a process is still in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Our own group and the one above it, in each hierarchy that may count memory.
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
        // A container sees its part of the hierarchy as the whole.
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

/// The path of our group in the hierarchy with that controller; `""` is version 2.
fn own_group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = controllers.split(',').any(|own| own == controller);
        is_it.then_some(path)
    })
}
