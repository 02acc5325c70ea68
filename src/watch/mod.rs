//! Watches places for changes, and reports them once they have settled.
//!
//! This module knows only paths; the caller knows their meaning. A place need not exist. Nothing
//! here reads a file or costs time unless a caller waits. The kernel reports changes; where it
//! cannot, the places are polled.

mod kernel;
mod map;
mod poll;
mod settle;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use haft_tool::Problem;
use kernel::Kernel;
use map::Map;

/// The places to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interest {
    /// Folders in which every entry counts.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Single paths whose content or existence counts.
    pub(crate) files: BTreeSet<PathBuf>,
}

/// Method by which changes are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// By the kernel, or by polling if the kernel cannot.
    ByKernel,
    /// By polling at this interval.
    ByLooking(Duration),
}

/// Polling interval if the kernel does not report changes.
const PAUSE: Duration = Duration::from_secs(2);

/// Watches places until it is dropped.
pub(crate) struct Watcher {
    map: Arc<Map>,
    kernel: Option<Kernel>,
    pause: Duration,
    problem: Option<Problem>,
    events: mpsc::UnboundedReceiver<PathBuf>,
    seen: Option<poll::Seen>,
}

impl Watcher {
    pub(crate) fn new(notice: Notice) -> Watcher {
        let (sender, events) = mpsc::unbounded_channel();
        let mut watcher = Watcher {
            map: Arc::default(),
            kernel: None,
            pause: PAUSE,
            problem: None,
            events,
            seen: None,
        };
        match notice {
            Notice::ByLooking(pause) => watcher.pause = pause,
            Notice::ByKernel => match Kernel::start(sender) {
                Ok(kernel) => watcher.kernel = Some(kernel),
                Err(error) => watcher.give_up(&error),
            },
        }
        watcher
    }

    /// Watches these places from now on. Returns true if one of them was not watched before,
    /// because earlier changes at that place were not noticed.
    pub(crate) async fn set(&mut self, interest: Interest) -> bool {
        let map = tokio::task::spawn_blocking(move || Map::of(&interest)).await;
        let Ok(map) = map.map(Arc::new) else {
            return false;
        };
        let is_more = self.map.lacks_some_of(&map);
        self.map = map.clone();
        if let Some(mut kernel) = self.kernel.take() {
            let set = tokio::task::spawn_blocking(move || {
                let set = kernel.set(map);
                (kernel, set)
            });
            match set.await {
                Ok((kernel, Ok(()))) => self.kernel = Some(kernel),
                Ok((_, Err(error))) => self.give_up(&error),
                Err(_) => self.give_up("the thread that watches is gone"),
            }
        }
        // The baseline must be older than the caller's next scan, or a change in between is lost.
        if self.kernel.is_none() && (is_more || self.seen.is_none()) {
            self.seen = Some(poll::look(self.map.clone()).await);
        }
        is_more
    }

    /// Waits until something has changed and then nothing for a moment. Returns the paths that were
    /// noticed, which may be none if the kernel lost events.
    pub(crate) async fn changed(&mut self) -> BTreeSet<PathBuf> {
        match self.kernel {
            Some(_) => settle::settled(&mut self.events).await,
            None => self.looked().await,
        }
    }

    /// Returns the reason for polling, if the kernel was to report changes.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    async fn looked(&mut self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        loop {
            // A change may be unfinished: wait for a look that finds nothing new.
            let pause = if found.is_empty() {
                self.pause
            } else {
                settle::QUIET.min(self.pause)
            };
            tokio::time::sleep(pause).await;
            let now = poll::look(self.map.clone()).await;
            let before = self.seen.replace(now);
            let now = self.seen.as_ref().expect("it was just put there");
            let changed = now.different_from(before.as_ref());
            if changed.is_empty() && !found.is_empty() {
                return found;
            }
            found.extend(changed);
        }
    }

    fn give_up(&mut self, why: &str) {
        let text = format!("changes of files cannot be watched: {why}");
        let problem = Problem::warning(text).hint(format!(
            "they are looked for every {} s instead; on Linux \
             `sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512` allows more",
            self.pause.as_secs()
        ));
        self.problem = Some(problem);
    }
}
