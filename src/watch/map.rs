//! Folders to watch for given places, and the entries that count in each.
//!
//! Only folders are watched, never files, because an editor that saves by renaming replaces the
//! file. Each folder is named by its real path, since the kernel knows a folder only once, however
//! many links lead to it. A missing place is watched for in the nearest folder that exists. A place
//! that may vanish is watched for in the folders above it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Interest;

/// The folders to watch, with their entries.
#[derive(Debug, Default)]
pub(super) struct Map {
    folders: HashMap<PathBuf, Entries>,
}

/// The entries of a folder that count.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) all: bool,
    pub(super) names: HashSet<OsString>,
}

/// Number of folders above a place that are watched for its return.
const ABOVE: usize = 4;

impl Map {
    /// Finds the folders for these places. Follows links, so it reads the disk.
    pub(super) fn of(interest: &Interest) -> Map {
        let (mut map, mut real) = (Map::default(), HashMap::new());
        for folder in &interest.folders {
            map.add(folder, &mut real);
            if let Some(folder) = real_folder(folder, &mut real) {
                map.folders.entry(folder).or_default().all = true;
            }
        }
        for file in &interest.files {
            map.add(file, &mut real);
        }
        map
    }

    /// Watches for `place` and its link target in the folders above them.
    fn add(&mut self, place: &Path, real: &mut HashMap<PathBuf, Option<PathBuf>>) {
        self.add_above(place, real);
        let target = std::fs::canonicalize(place).ok();
        if let Some(target) = target.filter(|target| target != place) {
            self.add_above(&target, real);
        }
    }

    fn add_above(&mut self, place: &Path, real: &mut HashMap<PathBuf, Option<PathBuf>>) {
        let mut found = 0;
        let mut entry = place;
        while let (Some(folder), Some(name)) = (entry.parent(), entry.file_name()) {
            // The root always exists, and many unrelated changes happen in it.
            if folder.parent().is_none() && found > 0 {
                return;
            }
            if let Some(folder) = real_folder(folder, real) {
                let entries = self.folders.entry(folder).or_default();
                entries.names.insert(name.to_owned());
                found += 1;
                if found > ABOVE {
                    return;
                }
            }
            entry = folder;
        }
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = (&PathBuf, &Entries)> {
        self.folders.iter()
    }

    pub(super) fn has(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Returns true if an event at `path` counts.
    pub(super) fn counts(&self, path: &Path) -> bool {
        let in_folder = || {
            let (folder, name) = (path.parent()?, path.file_name()?);
            let entries = self.folders.get(folder)?;
            Some(entries.all || entries.names.contains(name))
        };
        in_folder().unwrap_or(false)
    }

    /// Returns true if something counts in `other` that does not count here.
    pub(super) fn lacks_some_of(&self, other: &Map) -> bool {
        other.folders.iter().any(|(folder, theirs)| {
            self.folders.get(folder).is_none_or(|ours| {
                !ours.all && (theirs.all || !theirs.names.is_subset(&ours.names))
            })
        })
    }
}

/// Returns the folder's real path; `None` if it is missing.
fn real_folder(folder: &Path, known: &mut HashMap<PathBuf, Option<PathBuf>>) -> Option<PathBuf> {
    if let Some(real) = known.get(folder) {
        return real.clone();
    }
    let real = std::fs::canonicalize(folder).ok();
    let real = real.filter(|real| real.is_dir());
    known.insert(folder.to_owned(), real.clone());
    real
}
