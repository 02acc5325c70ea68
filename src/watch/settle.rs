//! When a change is over: nothing has happened for a moment, and git is done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout};

/// How long nothing may happen.
pub(super) const QUIET: Duration = Duration::from_millis(150);

/// A change that never ends, as of a file that somebody writes all the time, counts after this.
const LONGEST: Duration = Duration::from_secs(3);

/// The same while git works.
const LONGEST_OF_GIT: Duration = Duration::from_secs(20);

/// Waits for a change to begin and to end; what changed.
pub(super) async fn settled(events: &mut UnboundedReceiver<PathBuf>) -> BTreeSet<PathBuf> {
    let Some(first) = events.recv().await else {
        // Nobody can tell any more.
        return std::future::pending().await;
    };
    let (began, mut changed) = (Instant::now(), BTreeSet::from([first]));
    loop {
        if let Ok(Some(path)) = timeout(QUIET, events.recv()).await {
            changed.insert(path);
            // What has come meanwhile belongs to it as well.
            while let Ok(path) = events.try_recv() {
                changed.insert(path);
            }
            if began.elapsed() < LONGEST {
                continue;
            }
        }
        if began.elapsed() >= LONGEST_OF_GIT || !git_is_at_work(&changed) {
            changed.remove(Path::new(""));
            return changed;
        }
    }
}

/// Git holds its lock while it puts files in their places.
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

/// True for a lock that git may still hold. One that was left behind by a crash delays nothing.
fn is_fresh(lock: &Path) -> bool {
    let made = lock.metadata().and_then(|found| found.modified());
    // The time may lie ahead of the clock.
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < LONGEST_OF_GIT))
}
