//! Loads a batch of modules: cached descriptions are used, and those of loaded modules are cached.
//!
//! Modules that must be loaded are loaded one after another, because each sees the changes of the
//! earlier ones to the globals. Meanwhile another thread compiles them and builds their import
//! graphs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use url::Url;

use super::cache::{Cache, Fresh};
use super::graph::{Graph, Grapher};
use super::load_trace::LoadTrace;
use super::loader::Prefetch;
use super::source::{ImportCollector, on_deep_stack};
use super::transpile_cache::Compiled;
use super::{CodePaths, Engine, IsolateKey, LoadFailure, Module};
use haft_tool::{Isolation, ToolRights, TrustDomain};

/// Longest wait for import graphs after the last module was loaded. Only the cache needs them.
const GRAPH_WAIT: Duration = Duration::from_secs(2);

/// A module to load: an absolute path, and the query of its URL.
pub struct LoadRequest<'a> {
    /// The file.
    pub path: &'a Path,
    /// The part of the URL after `?`.
    pub query: Option<&'a str>,
    /// The party that it belongs to.
    pub domain: TrustDomain,
    /// The rights of its tools.
    pub rights: ToolRights,
    /// Its code, which a sandbox lets it read; `None` without a sandbox.
    pub code: Option<Arc<CodePaths>>,
}

/// A module and its description.
pub struct Described {
    /// Handle that runs the module's tools.
    pub module: Module,
    /// The JSON `{tools: […]}`.
    pub text: String,
    /// True if the description came from the cache; the module is loaded on demand.
    pub is_remembered: bool,
}

/// A batch of module loads. The modules must be requested in the order in which they were
/// announced.
pub struct LoadBatch {
    engine: Engine,
    cache: Option<Arc<Cache>>,
    places: Vec<Place>,
    next: usize,
    graphs: Option<oneshot::Receiver<(Prefetch, Vec<Graph>)>>,
    /// The isolates in which a module changed state that later modules can see. Later descriptions
    /// then hold only together with that module, so they are not cached.
    traces: HashSet<IsolateKey>,
}

struct Place {
    url: Option<Url>,
    key: IsolateKey,
    rights: ToolRights,
    path: PathBuf,
    known: Option<String>,
    fresh: Option<(String, LoadTrace)>,
}

impl Engine {
    /// Begins to load these modules.
    pub async fn round(&self, wanted: &[LoadRequest<'_>]) -> LoadBatch {
        let place = |wanted: &LoadRequest<'_>| Place {
            url: url_of(wanted),
            key: IsolateKey::of_tier(
                wanted.domain,
                &wanted.rights,
                wanted.code.clone(),
                self.inner.options.unasked,
            ),
            rights: wanted.rights.clone(),
            path: wanted.path.to_owned(),
            known: None,
            fresh: None,
        };
        let mut round = LoadBatch {
            engine: self.clone(),
            cache: self.inner.cache.clone(),
            places: wanted.iter().map(place).collect(),
            next: 0,
            graphs: None,
            traces: HashSet::new(),
        };
        if let Some(cache) = round.cache.clone() {
            let name = |place: &Place| {
                let url = place.url.as_ref();
                url.map(|url| place.key.name_of(url)).unwrap_or_default()
            };
            let urls: Vec<_> = round.places.iter().map(name).collect();
            let found = tokio::task::spawn_blocking(move || cache.find(&urls)).await;
            for (place, known) in round.places.iter_mut().zip(found.unwrap_or_default()) {
                place.known = known;
            }
        }
        round.work_ahead();
        round
    }
}

impl LoadBatch {
    /// Starts all work that needs no isolate on another thread, in the order of need.
    fn work_ahead(&mut self) {
        let unknown = self.places.iter().filter(|place| place.known.is_none());
        let options = &self.engine.inner.options;
        let announced: Vec<_> = unknown
            .map(|place| {
                let verifier = options.verifier_of(place.key.domain).cloned();
                let is_local = place.key.isolation == Isolation::None;
                (place.path.clone(), verifier, is_local)
            })
            .collect();
        if announced.is_empty() {
            return;
        }
        let paths: Vec<_> = announced.iter().map(|(path, ..)| path.clone()).collect();
        // A worker process compiles its modules itself.
        let local = announced.into_iter().filter(|(.., is_local)| *is_local);
        let local = local.map(|(path, verifier, _)| (path, verifier));
        let ahead = Prefetch::announce(local.collect());
        let lesson = self.cache.is_some().then(ImportCollector::begin);
        let (done, graphs) = oneshot::channel();
        // A thread of the runtime would delay the end of the program, because the runtime waits for
        // it.
        let thread = std::thread::Builder::new().name("haft-ahead".into());
        let compiled = Compiled::open(self.engine.inner.options.cache.as_deref());
        let started = thread.spawn(move || {
            let graphs = on_deep_stack(|| {
                ahead.compile(compiled);
                let grapher = Grapher::default();
                let graph = |path: &PathBuf| lesson.as_ref().map(|_| grapher.graph(path));
                paths.iter().filter_map(graph).collect()
            });
            // `ahead` is sent with the graphs, because its drop removes compiled files that the
            // isolate still uses. The receiver may be gone by now.
            let _ = done.send((ahead, graphs));
        });
        self.graphs = started.is_ok().then_some(graphs);
    }

    /// Loads the next module or takes it from the cache.
    ///
    /// # Errors
    /// With the module's own error, or the engine's when the load did not end in time.
    pub async fn load_next(&mut self) -> Result<Described, LoadFailure> {
        let at = self.next;
        self.next += 1;
        let Some(place) = self.places.get_mut(at) else {
            return Err(LoadFailure::Engine("it was not announced".into()));
        };
        let Some(url) = place.url.clone() else {
            let text = format!("'{}' is not an absolute path", place.path.display());
            return Err(LoadFailure::Engine(text));
        };
        let (key, rights) = (place.key.clone(), place.rights.clone());
        let had_traces = self.traces.contains(&key);
        if !had_traces && let Some(text) = place.known.clone() {
            let module = self.engine.remembered(url, key, rights, &text);
            return Ok(Described {
                module,
                text,
                is_remembered: true,
            });
        }
        let (loaded, notes) = self.engine.load_url(url, key.clone(), rights).await;
        if notes.as_ref().is_none_or(|notes| notes.mark_side_effects) {
            self.traces.insert(key);
        }
        let (module, text) = loaded?;
        if let Some(notes) = notes
            && !had_traces
        {
            place.fresh = Some((text.clone(), notes));
        }
        Ok(Described {
            module,
            text,
            is_remembered: false,
        })
    }

    /// Stores the descriptions of the loaded modules in the cache.
    pub async fn finish(self) {
        let (Some(cache), Some(graphs)) = (self.cache, self.graphs) else {
            return;
        };
        let Ok(Ok((_ahead, graphs))) = tokio::time::timeout(GRAPH_WAIT, graphs).await else {
            return;
        };
        let unknown = self
            .places
            .into_iter()
            .filter(|place| place.known.is_none());
        let fresh = unknown.zip(graphs).filter_map(|(place, graph)| {
            let (described, notes) = place.fresh?;
            Some(Fresh {
                url: place.key.name_of(place.url.as_ref()?),
                described,
                graph,
                notes,
            })
        });
        let fresh: Vec<_> = fresh.collect();
        // An error is ignored, because the tools are loaded in any case.
        let _ = tokio::task::spawn_blocking(move || cache.keep(fresh)).await;
    }
}

fn url_of(wanted: &LoadRequest<'_>) -> Option<Url> {
    let mut url = Url::from_file_path(wanted.path).ok()?;
    url.set_query(wanted.query);
    Some(url)
}
