//! Debouncing of changes: a change is over when nothing has happened for a moment and git is done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout};

/// Time without events after which a change is over.
pub(super) const QUIET: Duration = Duration::from_millis(150);

/// Limit for a change that never ends, such as a file that is written all the time.
const MAX_DELAY: Duration = Duration::from_secs(3);

/// The same limit while git works.
const MAX_GIT_DELAY: Duration = Duration::from_secs(20);

/// Waits for a change to begin and to end; returns the changed paths.
pub(super) async fn settled(events: &mut UnboundedReceiver<PathBuf>) -> BTreeSet<PathBuf> {
    let Some(first) = events.recv().await else {
        // The watcher is gone, so no change can be reported any more.
        return std::future::pending().await;
    };
    let (began, mut changed) = (Instant::now(), BTreeSet::from([first]));
    loop {
        if let Ok(Some(path)) = timeout(QUIET, events.recv()).await {
            changed.insert(path);
            // Paths that have arrived meanwhile belong to the same change.
            while let Ok(path) = events.try_recv() {
                changed.insert(path);
            }
            if began.elapsed() < MAX_DELAY {
                continue;
            }
        }
        if began.elapsed() >= MAX_GIT_DELAY || !git_is_at_work(&changed) {
            changed.remove(Path::new(""));
            return changed;
        }
    }
}

/// Returns true while git holds its lock, which it does until all files are in place.
fn git_is_at_work(changed: &BTreeSet<PathBuf>) -> bool {
    let folders: BTreeSet<&Path> = changed.iter().filter_map(|path| path.parent()).collect();
    let above: BTreeSet<&Path> = folders
        .into_iter()
        .flat_map(|folder| folder.ancestors())
        .collect();
    above
        .into_iter()
        .any(|folder| is_fresh(&folder.join(".git/index.lock")))
}

/// Returns true for a lock that git may still hold. A lock that a crash left behind delays nothing.
fn is_fresh(lock: &Path) -> bool {
    let made = lock.metadata().and_then(|found| found.modified());
    // The modification time may be ahead of the clock.
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < MAX_GIT_DELAY))
}
