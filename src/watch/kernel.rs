//! Watches folders through the kernel (inotify, FSEvents, …), by `notify`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::map::Map;

/// A kernel watch on folders.
pub(super) struct Kernel {
    watcher: RecommendedWatcher,
    /// The entries that count, shared with the thread that receives events.
    map: Arc<Mutex<Arc<Map>>>,
    watched: BTreeSet<PathBuf>,
}

impl Kernel {
    /// Starts the thread; the error is a message for people.
    pub(super) fn start(changes: mpsc::UnboundedSender<PathBuf>) -> Result<Kernel, String> {
        let map: Arc<Mutex<Arc<Map>>> = Arc::default();
        let seen = map.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let map = seen.lock().clone();
            for path in relevant(event, &map) {
                // Without a receiver the watcher is about to be dropped.
                let _ = changes.send(path);
            }
        })
        .map_err(|error| text(&error))?;
        Ok(Kernel {
            watcher,
            map,
            watched: BTreeSet::new(),
        })
    }

    /// Watches the folders of `map`, and only those.
    pub(super) fn set(&mut self, map: Arc<Map>) -> Result<(), String> {
        // The map comes first, so that events count as soon as a folder is watched.
        *self.map.lock() = map.clone();
        let gone = self.watched.extract_if(.., |folder| !map.has(folder));
        for folder in gone {
            // The kernel has already removed the watch of a deleted folder.
            let _ = self.watcher.unwatch_it(&folder);
        }
        for (folder, _) in map.folders() {
            // Known folders too: another folder may be at the same path by now.
            let watched = self.watcher.watch_it(folder);
            match watched {
                Ok(()) => drop(self.watched.insert(folder.clone())),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(text(&error)),
            }
        }
        Ok(())
    }
}

/// The two functions of `notify` that are needed.
trait Watch {
    fn watch_it(&mut self, folder: &Path) -> notify::Result<()>;
    fn unwatch_it(&mut self, folder: &Path) -> notify::Result<()>;
}

impl<W: notify::Watcher> Watch for W {
    fn watch_it(&mut self, folder: &Path) -> notify::Result<()> {
        self.watch(folder, RecursiveMode::NonRecursive)
    }

    fn unwatch_it(&mut self, folder: &Path) -> notify::Result<()> {
        self.unwatch(folder)
    }
}

/// Returns the paths of the event that count. If the kernel lost events, any path may have changed;
/// the empty path stands for that.
fn relevant(event: notify::Result<Event>, map: &Map) -> Vec<PathBuf> {
    let Ok(event) = event else {
        return vec![PathBuf::new()];
    };
    if event.need_rescan() {
        return vec![PathBuf::new()];
    }
    let is_change = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    };
    let mut paths = event.paths;
    paths.retain(|path| is_change && map.counts(path));
    paths
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => true,
        ErrorKind::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound
                | std::io::ErrorKind::NotADirectory
                | std::io::ErrorKind::PermissionDenied
        ),
        _ => false,
    }
}

fn text(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => "the limit of watched folders is reached".to_owned(),
        ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}
