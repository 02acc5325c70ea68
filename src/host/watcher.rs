//! Hot reload: watches everything that the catalog came from, and refreshes it after a change.
//!
//! A refresh without differences is cheap: it takes a few milliseconds on another thread. Calls
//! never wait for it.

use std::collections::BTreeSet;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{MutexGuard, broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::load_state::KnownFiles;
use super::load_state::Why;
use super::{Host, Inner};
use crate::registry::{Catalog, Entry};
use crate::trust;
use crate::watch::{Interest, Notice, Watcher};
use haft_config::PROJECT_FILE;
use haft_config::permits::Permits;
use haft_discover::Places;
use haft_engine::Module;
use haft_tool::{CatalogChange, Family, Problem};

/// Guard of a watch, which keeps the catalog up to date with the disk until it is dropped.
#[must_use = "nothing is watched any more when it is dropped"]
pub struct WatchGuard {
    task: JoinHandle<()>,
    reloads: broadcast::Sender<Arc<Reload>>,
    ready: CancellationToken,
}

/// Result of a change on disk.
#[derive(Clone, Debug)]
pub struct Reload {
    /// The changed files, as far as they are known.
    pub files: Vec<PathBuf>,
    /// The tools that run other code or have other rights from now on, even if callers see no
    /// difference.
    pub reloaded: Vec<String>,
    /// The change that callers see; `None` if they see none.
    pub change: Option<Arc<CatalogChange>>,
    /// New problems.
    pub problems: Vec<Problem>,
    /// Solved problems.
    pub solved: Vec<Problem>,
    /// Time from the end of the changes on disk to the new catalog.
    pub took: Duration,
}

/// Number of reloads that are kept for slow receivers.
const RELOAD_BUFFER: usize = 64;

/// Delays before executables that did not describe themselves in time are asked again. Each delay
/// starts at the last failed attempt. After the last one a file has to change first.
const SECOND_LOOKS: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_secs(15),
    Duration::from_secs(60),
];

/// Maximum number of refreshes in a row that are due to newly watched files.
const ROUNDS: usize = 4;

impl Host {
    /// Watches everything that tools come from, and loads again what changes: modules with all that
    /// they import, executables, definitions, settings, trust. [`Host::changes`] notifies callers.
    /// Starts the first search if it has not run yet. Returns at once; must be called in a tokio
    /// runtime.
    pub fn watch(&self) -> WatchGuard {
        self.watch_with(Notice::ByKernel)
    }

    /// Watches by polling the files at this interval, for file systems that do not report changes.
    pub fn watch_polling(&self, every: Duration) -> WatchGuard {
        self.watch_with(Notice::ByLooking(every))
    }

    fn watch_with(&self, notice: Notice) -> WatchGuard {
        let (reloads, _) = broadcast::channel(RELOAD_BUFFER);
        let ready = CancellationToken::new();
        let watch = Watch {
            host: Arc::downgrade(&self.inner),
            closing: self.inner.closing.clone(),
            reloads: reloads.clone(),
            ready: ready.clone(),
            configuration: Vec::new(),
        };
        WatchGuard {
            task: tokio::spawn(async move { watch.run(Watcher::new(notice)).await }),
            reloads,
            ready,
        }
    }

    /// Runs [`Host::refresh`] and returns its result; `None` if nothing is different.
    pub async fn refresh_and_notify(&self) -> Option<Reload> {
        let before = self.compare().await;
        self.refresh().await;
        before.until_now(self, BTreeSet::new()).await
    }

    /// Begins a comparison of the catalogs before and after a refresh. Waits for the end of the one
    /// that runs.
    pub(super) async fn compare(&self) -> Before<'_> {
        let alone = self.inner.comparing.lock().await;
        Before::of(self, alone).await
    }

    /// Imports the cached modules that were never needed, so that a last good version exists when
    /// their files break. A watch does it by itself once a file has changed. Before that a server
    /// without changes and calls needs no V8.
    pub async fn load_cached(&self) {
        import_all(self.unneeded().await).await;
    }

    /// Returns the problems of the watch.
    pub(super) fn problems_of_watching(&self) -> Vec<Problem> {
        self.inner.watching.lock().clone()
    }

    /// Returns everything that the catalog came from.
    async fn interest(&self) -> Interest {
        let loaded = self.inner.loaded.lock().await;
        let Places { folders, files } = loaded.places.clone();
        let graphs = loaded.known.modules.values();
        let graphs: Vec<_> = graphs.filter_map(|module| module.graph.clone()).collect();
        let given: Vec<_> = loaded
            .given
            .iter()
            .map(|one| one.resolved.clone())
            .collect();
        drop(loaded);
        let config = self.config();
        let mut interest = Interest { folders, files };
        interest.files.extend(given);
        interest.files.extend(configuration_files(self));
        interest.files.insert(trust::grant_file(config));
        interest
            .folders
            .insert(Permits::watched_folder(&config.state_dir));
        interest.folders.extend(self.inner.connections.folders());
        let is_near = |path: &&PathBuf| {
            [&config.home, &config.cwd]
                .iter()
                .any(|it| path.starts_with(it))
        };
        for graph in graphs {
            let files = graph.files.keys().chain(graph.assets.keys());
            interest.files.extend(files.cloned());
            let links = graph.links.iter().flat_map(|(link, target)| [link, target]);
            interest.files.extend(links.cloned());
            // Other places are not watched, for example the root of the disk. A package that is
            // added there takes effect when haft is restarted.
            let entry = graph.entry.parent();
            let places = graph.looked_at.keys();
            let places = places.filter(|path| is_near(path) || path.parent() == entry);
            interest.files.extend(places.cloned());
        }
        interest
    }

    /// Returns the modules that came from the cache and were never needed.
    async fn unneeded(&self) -> Vec<Module> {
        let loaded = self.inner.loaded.lock().await;
        let modules = loaded.known.modules.values();
        let remembered = modules.filter(|module| module.offered.is_remembered);
        remembered
            .filter_map(|module| module.offered.module.clone())
            .collect()
    }
}

impl WatchGuard {
    /// Returns the reloads from now on, one after another. A slow receiver misses the oldest.
    pub fn reloads(&self) -> broadcast::Receiver<Arc<Reload>> {
        self.reloads.subscribe()
    }

    /// Waits until everything is watched. Changes from then on are noticed. Earlier changes are
    /// noticed as soon as the watch is ready.
    pub async fn ready(&self) {
        self.ready.cancelled().await;
    }
}

impl Reload {
    fn is_nothing(&self) -> bool {
        self.change.is_none()
            && self.reloaded.is_empty()
            && self.problems.is_empty()
            && self.solved.is_empty()
    }
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// State before a refresh.
pub(super) struct Before<'a> {
    /// Comparisons of the same time would report the same change.
    _alone: MutexGuard<'a, ()>,
    began: Instant,
    catalog: Arc<Catalog>,
    changes: watch::Receiver<Arc<CatalogChange>>,
}

impl<'a> Before<'a> {
    pub(super) async fn of(host: &Host, alone: MutexGuard<'a, ()>) -> Before<'a> {
        let began = Instant::now();
        let catalog = host.catalog_for_calls().await;
        let mut changes = host.changes();
        changes.mark_unchanged();
        Before {
            _alone: alone,
            began,
            catalog,
            changes,
        }
    }

    /// Returns the differences since then; `None` if nothing changed. `files` are the changed
    /// files.
    pub(super) async fn until_now(
        mut self,
        host: &Host,
        files: BTreeSet<PathBuf>,
    ) -> Option<Reload> {
        let (before, after) = (&self.catalog, &host.catalog_for_calls().await);
        let is_changed = self.changes.has_changed().unwrap_or_default();
        let reload = Reload {
            reloaded: reloaded(before, after, &files),
            files: files.into_iter().collect(),
            change: is_changed.then(|| self.changes.borrow_and_update().clone()),
            problems: new_in(after, before),
            solved: new_in(before, after),
            took: self.began.elapsed(),
        };
        (!reload.is_nothing()).then_some(reload)
    }
}

/// One watch on one host.
struct Watch {
    /// Weak, so that the watch does not keep the host alive.
    host: Weak<Inner>,
    closing: CancellationToken,
    reloads: broadcast::Sender<Arc<Reload>>,
    ready: CancellationToken,
    /// The configuration files as they were at the start.
    configuration: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Watch {
    async fn run(mut self, mut watcher: Watcher) {
        let _is_ready = self.ready.clone().drop_guard();
        if let Some(host) = self.host() {
            self.configuration = read_all(configuration_files(&host));
            host.catalog().await;
            // Watched before the first refresh, so that one refresh is enough.
            watcher.set(host.interest().await).await;
        }
        self.look(&mut watcher, BTreeSet::new()).await;
        self.ready.cancel();
        let mut importing = None;
        let mut second_looks = SECOND_LOOKS.iter();
        let connections = self.host().map(|host| host.inner.connections.changes());
        let mut connections = connections.unwrap_or_default();
        loop {
            let second_look = if self.is_something_late().await {
                second_looks.next().copied()
            } else {
                second_looks = SECOND_LOOKS.iter();
                None
            };
            let changed = tokio::select! {
                changed = watcher.changed() => changed,
                // A change at this moment is seen by this refresh, or reported once more.
                () = after(second_look) => {
                    self.look_at(&mut watcher, Why::Late, BTreeSet::new()).await;
                    continue;
                }
                () = changed(&mut connections) => {
                    self.look(&mut watcher, BTreeSet::new()).await;
                    continue;
                }
                () = self.closing.cancelled() => return,
            };
            if self.host().is_none() {
                return;
            }
            self.look(&mut watcher, changed).await;
            // A changed file shows that the user works on these tools, and may break the next one.
            importing.get_or_insert_with(|| {
                AbortOnDropHandle::new(tokio::spawn(import(self.host.clone())))
            });
        }
    }

    /// Refreshes the catalog and publishes the differences, then watches the files of the new one.
    /// Refreshes again if files were added to the watch: they may have changed meanwhile.
    async fn look(&self, watcher: &mut Watcher, changed: BTreeSet<PathBuf>) {
        self.look_at(watcher, Why::Files, changed).await;
    }

    async fn look_at(&self, watcher: &mut Watcher, why: Why, changed: BTreeSet<PathBuf>) {
        let (mut why, mut files) = (why, changed);
        for _ in 0..ROUNDS {
            let Some(host) = self.host() else {
                return;
            };
            // Before the comparison begins, so that it spans as little time as possible.
            host.read_rights_again().await;
            let before = host.compare().await;
            self.note_problems(&host, watcher);
            host.look_again(why).await;
            why = Why::Files;
            let files = std::mem::take(&mut files);
            if let Some(reload) = before.until_now(&host, files).await {
                self.tell(&host, reload);
            }
            let is_more = watcher.set(host.interest().await).await;
            let told = host.problems_of_watching();
            let is_told = watcher
                .problem()
                .is_none_or(|problem| told.contains(problem));
            if !is_more && is_told {
                return;
            }
        }
    }

    /// Returns true if an executable did not describe itself in time.
    async fn is_something_late(&self) -> bool {
        let Some(host) = self.host() else {
            return false;
        };
        let loaded = host.inner.loaded.lock().await;
        loaded.known.others.values().any(KnownFiles::is_late)
    }

    fn note_problems(&self, host: &Host, watcher: &Watcher) {
        let mut problems: Vec<_> = watcher.problem().cloned().into_iter().collect();
        for (file, was) in &self.configuration {
            if host.needs_restart() && std::fs::read(file).ok() != *was {
                let text = "the configuration changed, and not only in the rights of tools: the rest \
                            counts from the next start on";
                problems.push(Problem::warning(text).at(file).hint("start haft again"));
            }
        }
        *host.inner.watching.lock() = problems;
    }

    fn tell(&self, host: &Host, mut reload: Reload) {
        if !self.ready.is_cancelled() {
            // A caller that waits for `ready` finds it in the catalog.
            let known = host.problems_of_watching();
            reload.problems.retain(|problem| !known.contains(problem));
            if reload.is_nothing() {
                return;
            }
        }
        for problem in &reload.problems {
            tracing::warn!(path = ?problem.path, "{}", problem.message);
        }
        // The channel may have no receivers.
        let _ = self.reloads.send(Arc::new(reload));
    }

    fn host(&self) -> Option<Host> {
        Some(Host::from_inner(self.host.upgrade()?))
    }
}

/// Waits until something new is known of an MCP server or another host.
async fn changed(connections: &mut [watch::Receiver<u64>]) {
    let changes = connections
        .iter_mut()
        .map(async |one| one.changed().await.is_ok());
    let mut changes: FuturesUnordered<_> = changes.collect();
    while let Some(is_changed) = changes.next().await {
        if is_changed {
            return;
        }
    }
    // The host has ended.
    pending().await
}

/// Returns the tools that are in both catalogs and run other code, or have other rights.
fn reloaded(before: &Catalog, after: &Catalog, files: &BTreeSet<PathBuf>) -> Vec<String> {
    let is_other = |entry: &&Arc<Entry>| {
        let was = before.entries.iter();
        let mut was = was.filter(|was| was.tool.name == entry.tool.name);
        // Files of other families are read together: reading one again does not mean a change.
        let is_its_own =
            entry.tool.source.family == Family::Js || files.contains(&entry.resolved_path);
        // An untrusted tool is checked anew each time, and runs no code at all.
        entry.tool.trusted
            && was.any(|was| {
                let is_other = !Arc::ptr_eq(&was.runner, &entry.runner);
                is_other && (is_its_own || was.rights() != entry.rights())
            })
    };
    let reloaded = after.entries.iter().filter(is_other);
    reloaded.map(|entry| entry.tool.name.clone()).collect()
}

fn new_in(catalog: &Catalog, other: &Catalog) -> Vec<Problem> {
    let problems = catalog.problems.iter();
    let new = problems.filter(|problem| !other.problems.contains(problem));
    new.cloned().collect()
}

/// Returns the files from which the host's configuration was read.
fn configuration_files(host: &Host) -> Vec<PathBuf> {
    let config = host.config();
    vec![
        config.roots.config_home.join("haft/config.yaml"),
        config.cwd.join(PROJECT_FILE),
    ]
}

fn read_all(files: Vec<PathBuf>) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let read = |path: &Path| std::fs::read(path).ok();
    files
        .into_iter()
        .map(|path| (path.clone(), read(&path)))
        .collect()
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}

async fn import(host: Weak<Inner>) {
    if let Some(inner) = host.upgrade() {
        let host = Host::from_inner(inner);
        let modules = host.unneeded().await;
        drop(host);
        import_all(modules).await;
    }
}

/// Imports the modules one after another, because calls do not wait for them.
async fn import_all(modules: Vec<Module>) {
    for module in modules {
        module.ready().await;
    }
}
