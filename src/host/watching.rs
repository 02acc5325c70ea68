//! Hot reload: watches everything that the catalog came from, and looks again when it changes.
//!
//! Looking again is cheap where nothing is different, so a change that turns out to be none costs a
//! few milliseconds of another thread. Calls never wait for any of it.

use std::collections::BTreeSet;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::known::KnownFiles;
use super::plan::Why;
use super::{Audience, Host, Inner};
use crate::config::PROJECT_FILE;
use crate::discover::Places;
use crate::engine::Module;
use crate::registry::{Catalog, Entry};
use crate::tool::{CatalogChange, Family, Problem};
use crate::trust;
use crate::watch::{Interest, Notice, Watcher};

/// Keeps the catalog as the disk is, until it is dropped.
#[must_use = "nothing is watched any more when it is dropped"]
pub struct Watching {
    task: JoinHandle<()>,
    reloads: broadcast::Sender<Arc<Reload>>,
    ready: CancellationToken,
}

/// What a change on disk came to.
#[derive(Clone, Debug)]
pub struct Reload {
    /// The files that were seen to change, as far as they are known.
    pub files: Vec<PathBuf>,
    /// The tools that run other code from now on, whether callers see a difference or not.
    pub reloaded: Vec<String>,
    /// What callers see of it; `None` if nothing.
    pub change: Option<Arc<CatalogChange>>,
    /// What is wrong now and was not before.
    pub problems: Vec<Problem>,
    /// What is not wrong any more.
    pub solved: Vec<Problem>,
    /// From the moment when things had settled to the new catalog.
    pub took: Duration,
}

/// As many reloads are kept for whoever is slow to hear of them.
const KEPT: usize = 64;

/// When executables that did not say in time what they are, are asked again: so long after each look that
/// did not settle it. What hangs each time is let alone then until a file changes.
const SECOND_LOOKS: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_secs(15),
    Duration::from_secs(60),
];

/// How often is looked again because what was found has to be watched as well.
const ROUNDS: usize = 4;

impl Host {
    /// Watches everything that tools come from, and loads again what changes: modules with all that
    /// they import, executables, definitions, settings, trust. [`Host::changes`] tells callers. Looks
    /// for the tools if nobody has. Returns at once; must be called in a tokio runtime.
    pub fn watch(&self) -> Watching {
        self.watch_with(Notice::ByKernel)
    }

    /// The same by looking at the files again and again, for file systems that tell nothing of
    /// changes: once in this time.
    pub fn watch_by_looking(&self, every: Duration) -> Watching {
        self.watch_with(Notice::ByLooking(every))
    }

    fn watch_with(&self, notice: Notice) -> Watching {
        let (reloads, _) = broadcast::channel(KEPT);
        let ready = CancellationToken::new();
        let watch = Watch {
            host: Arc::downgrade(&self.0),
            closing: self.0.closing.clone(),
            reloads: reloads.clone(),
            ready: ready.clone(),
            configuration: Vec::new(),
        };
        Watching {
            task: tokio::spawn(async move { watch.go_on(Watcher::new(notice)).await }),
            reloads,
            ready,
        }
    }

    /// [`Host::refresh`], and what it came to; `None` if nothing is different.
    pub async fn refresh_and_tell(&self) -> Option<Reload> {
        let before = Before::of(self).await;
        self.refresh().await;
        before.until_now(self, BTreeSet::new()).await
    }

    /// Imports the modules that were remembered and never needed, so that there is a last good version
    /// of them when their files break. A watch does it by itself once a file has changed: a server that
    /// nobody works on needs no V8 for tools that nobody calls.
    pub async fn import_remembered(&self) {
        import_all(self.unneeded().await).await;
    }

    /// What is wrong with watching.
    pub(super) fn problems_of_watching(&self) -> Vec<Problem> {
        let problems = self.0.watching.lock();
        problems.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything that the catalog came from.
    async fn interest(&self) -> Interest {
        let loaded = self.0.loaded.lock().await;
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
            // Whoever puts a package into the root of the disk may start haft again.
            let entry = graph.entry.parent();
            let places = graph.looked_at.keys();
            let places = places.filter(|path| is_near(path) || path.parent() == entry);
            interest.files.extend(places.cloned());
        }
        interest
    }

    /// The modules that were found and never needed.
    async fn unneeded(&self) -> Vec<Module> {
        let loaded = self.0.loaded.lock().await;
        let modules = loaded.known.modules.values();
        let remembered = modules.filter(|module| module.offered.is_remembered);
        remembered
            .filter_map(|module| module.offered.module.clone())
            .collect()
    }
}

impl Watching {
    /// What happens from now on, one reload after another. Who is slow misses the oldest.
    pub fn reloads(&self) -> broadcast::Receiver<Arc<Reload>> {
        self.reloads.subscribe()
    }

    /// Waits until everything is watched: changes from then on are noticed. (So are those before,
    /// as soon as it is.)
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

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What there was before a look.
struct Before {
    began: Instant,
    catalog: Arc<Catalog>,
    changes: watch::Receiver<Arc<CatalogChange>>,
}

impl Before {
    async fn of(host: &Host) -> Before {
        let began = Instant::now();
        let catalog = host.catalog_for_calls().await;
        let mut changes = host.changes();
        changes.mark_unchanged();
        Before {
            began,
            catalog,
            changes,
        }
    }

    /// What is different now; `None` if nothing is. `files` are those that were seen to change.
    async fn until_now(mut self, host: &Host, files: BTreeSet<PathBuf>) -> Option<Reload> {
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
    /// The watch does not keep the host alive.
    host: Weak<Inner>,
    closing: CancellationToken,
    reloads: broadcast::Sender<Arc<Reload>>,
    ready: CancellationToken,
    /// The configuration files as they were at the start.
    configuration: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Watch {
    async fn go_on(mut self, mut watcher: Watcher) {
        let _is_ready = self.ready.clone().drop_guard();
        if let Some(host) = self.host() {
            self.configuration = read_all(configuration_files(&host));
            host.catalog().await;
            // Watched before the first look, so that one look is enough.
            watcher.set(host.interest().await).await;
        }
        self.look(&mut watcher, BTreeSet::new()).await;
        self.ready.cancel();
        let mut importing = None;
        let mut second_looks = SECOND_LOOKS.iter();
        loop {
            let second_look = match self.is_something_late().await {
                true => second_looks.next().copied(),
                false => {
                    second_looks = SECOND_LOOKS.iter();
                    None
                }
            };
            let changed = tokio::select! {
                changed = watcher.changed() => changed,
                // What changes at this moment is seen by this look, or told once more.
                () = after(second_look) => {
                    self.look_at(&mut watcher, Why::Late, BTreeSet::new()).await;
                    continue;
                }
                () = self.closing.cancelled() => return,
            };
            if self.host().is_none() {
                return;
            }
            self.look(&mut watcher, changed).await;
            // Who changed one file is at work on these tools, and may break the next one.
            importing.get_or_insert_with(|| AbortOnDrop(tokio::spawn(import(self.host.clone()))));
        }
    }

    /// Looks at what is different, and tells; then watches what there is now. What came to be
    /// watched only now is looked at once more: it may have changed meanwhile.
    async fn look(&self, watcher: &mut Watcher, changed: BTreeSet<PathBuf>) {
        self.look_at(watcher, Why::Files, changed).await;
    }

    async fn look_at(&self, watcher: &mut Watcher, why: Why, changed: BTreeSet<PathBuf>) {
        let (mut why, mut files) = (why, changed);
        for _ in 0..ROUNDS {
            let Some(host) = self.host() else {
                return;
            };
            let before = Before::of(&host).await;
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

    /// Whether an executable did not say in time what it is.
    async fn is_something_late(&self) -> bool {
        let Some(host) = self.host() else {
            return false;
        };
        let loaded = host.0.loaded.lock().await;
        loaded.known.others.values().any(KnownFiles::is_late)
    }

    fn note_problems(&self, host: &Host, watcher: &Watcher) {
        let mut problems: Vec<_> = watcher.problem().cloned().into_iter().collect();
        for (file, was) in &self.configuration {
            if std::fs::read(file).ok() != *was {
                let text = "the configuration changed, which counts from the next start on";
                problems.push(Problem::warning(text).at(file).hint("start haft again"));
            }
        }
        let mut known = host
            .0
            .watching
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = problems;
    }

    fn tell(&self, host: &Host, mut reload: Reload) {
        if !self.ready.is_cancelled() {
            // Whoever waits until it is ready finds it in the catalog.
            let known = host.problems_of_watching();
            reload.problems.retain(|problem| !known.contains(problem));
            if reload.is_nothing() {
                return;
            }
        }
        for problem in &reload.problems {
            tracing::warn!(path = ?problem.path, "{}", problem.message);
        }
        // Nobody has to listen.
        let _ = self.reloads.send(Arc::new(reload));
    }

    fn host(&self) -> Option<Host> {
        Some(Host(self.host.upgrade()?, Audience::default()))
    }
}

/// The tools that are in both catalogs and run other code.
fn reloaded(before: &Catalog, after: &Catalog, files: &BTreeSet<PathBuf>) -> Vec<String> {
    let is_other = |entry: &&Arc<Entry>| {
        let was = before.entries.iter();
        let mut was = was.filter(|was| was.tool.name == entry.tool.name);
        // Files that are no modules are read together: that one was read again says nothing.
        let is_its_own =
            entry.tool.source.family == Family::Js || files.contains(&entry.resolved_path);
        // What is not trusted is looked at anew each time, and runs no code at all.
        let may_run = is_its_own && entry.tool.trusted;
        may_run && was.any(|was| !Arc::ptr_eq(&was.runner, &entry.runner))
    };
    let reloaded = after.entries.iter().filter(is_other);
    reloaded.map(|entry| entry.tool.name.clone()).collect()
}

fn new_in(catalog: &Catalog, other: &Catalog) -> Vec<Problem> {
    let problems = catalog.problems.iter();
    let new = problems.filter(|problem| !other.problems.contains(problem));
    new.cloned().collect()
}

/// The files from which the host's configuration was read.
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

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}

async fn import(host: Weak<Inner>) {
    if let Some(inner) = host.upgrade() {
        let host = Host(inner, Audience::default());
        let modules = host.unneeded().await;
        drop(host);
        import_all(modules).await;
    }
}

/// One after another: nobody waits for them.
async fn import_all(modules: Vec<Module>) {
    for module in modules {
        module.ready().await;
    }
}
