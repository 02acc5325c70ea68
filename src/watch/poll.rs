//! Polling of places, for systems whose kernel does not report changes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::map::Map;

/// Snapshot of the files at the places.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<PathBuf, Option<Mark>>);

/// Metadata that shows a change of a file.
#[derive(PartialEq, Eq)]
struct Mark {
    file: (u64, u64),
    size: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Takes a snapshot of every place.
pub(super) async fn look(map: Arc<Map>) -> Seen {
    let seen = tokio::task::spawn_blocking(move || see(&map));
    seen.await.unwrap_or_default()
}

fn see(map: &Map) -> Seen {
    let mut seen = BTreeMap::new();
    for (folder, entries) in map.folders() {
        let mut look = |path: PathBuf| {
            let mark = Mark::of(&path);
            seen.insert(path, mark);
        };
        entries
            .names
            .iter()
            .for_each(|name| look(folder.join(name)));
        if entries.all {
            let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
            found.for_each(|entry| look(entry.path()));
        }
    }
    Seen(seen)
}

impl Seen {
    /// Returns the places that differ from an earlier snapshot.
    pub(super) fn different_from(&self, before: Option<&Seen>) -> BTreeSet<PathBuf> {
        let Some(before) = before else {
            return BTreeSet::new();
        };
        let here = self.0.iter();
        let other = here.filter(|(path, mark)| before.0.get(*path) != Some(mark));
        let gone = before.0.keys().filter(|path| !self.0.contains_key(*path));
        other.map(|(path, _)| path).chain(gone).cloned().collect()
    }
}

impl Mark {
    /// Reads the metadata of a path. For a folder only its identity and mode count, since its
    /// entries are checked separately.
    fn of(path: &Path) -> Option<Mark> {
        let found = path.metadata().ok()?;
        let is_file = found.is_file();
        Some(Mark {
            file: (found.dev(), found.ino()),
            size: if is_file { found.size() } else { 0 },
            mode: found.mode(),
            modified: if is_file {
                (found.mtime(), found.mtime_nsec())
            } else {
                (0, 0)
            },
            changed: if is_file {
                (found.ctime(), found.ctime_nsec())
            } else {
                (0, 0)
            },
        })
    }
}
