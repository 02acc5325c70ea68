//! Loads a batch of modules: cached descriptions are used, and those of loaded modules are cached.
//!
//! Modules that must be loaded are loaded one after another, because each sees the changes of the
//! earlier ones to the globals. Meanwhile another thread of the isolate's process compiles those that
//! come next, and one of this process builds their import graphs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use url::Url;

use super::cache::{Cache, Fresh};
use super::graph::{Graph, Grapher};
use super::load_inputs::LoadTrace;
use super::placement::NO_MODULE;
use super::source::on_deep_stack;
use super::{CodePaths, Engine, IsolateKey, LoadFailure, Module};
use haft_tool::{ToolRights, TrustDomain};

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
    graphs: Option<oneshot::Receiver<Vec<Graph>>>,
    /// The keys whose isolates know the files of the batch.
    announced: HashSet<IsolateKey>,
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
            announced: HashSet::new(),
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
        round.build_graphs();
        round
    }
}

impl LoadBatch {
    /// Builds the import graphs of the modules to load on another thread, for the cache.
    fn build_graphs(&mut self) {
        let unknown = self.places.iter().filter(|place| place.known.is_none());
        let paths: Vec<_> = unknown.map(|place| place.path.clone()).collect();
        if paths.is_empty() || self.cache.is_none() {
            return;
        }
        let (done, graphs) = oneshot::channel();
        // A thread of the runtime would delay the end of the program, because the runtime waits for
        // it.
        let thread = std::thread::Builder::new().name("haft-graphs".into());
        let started = thread.spawn(move || {
            let built = on_deep_stack(|| {
                let grapher = Grapher::default();
                paths.iter().map(|path| grapher.graph(path)).collect()
            });
            // The receiver may be gone by now.
            let _ = done.send(built);
        });
        self.graphs = started.is_ok().then_some(graphs);
    }

    /// Lets the isolate of the modules with this key compile them before they are loaded.
    async fn announce(&mut self, key: &IsolateKey) {
        if !self.announced.insert(key.clone()) {
            return;
        }
        let files: Vec<_> = self
            .places
            .iter()
            .filter(|place| place.key == *key && place.known.is_none())
            .map(|place| place.path.clone())
            .collect();
        // The load of a single module passes its file on, and reports the error of a start.
        if files.len() > 1 {
            let _ = self.engine.isolate_for(NO_MODULE, key, files).await;
        }
    }

    /// Loads the next module or takes it from the cache.
    ///
    /// # Errors
    /// With the module's own error, or the engine's when the load did not end in time.
    pub async fn load_next(&mut self) -> Result<Described, LoadFailure> {
        let at = self.next;
        self.next += 1;
        let Some(place) = self.places.get(at) else {
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
        self.announce(&key).await;
        let (loaded, notes) = self.engine.load_url(url, key.clone(), rights).await;
        if notes.as_ref().is_none_or(|notes| notes.mark_side_effects) {
            self.traces.insert(key);
        }
        let (module, text) = loaded?;
        if let Some(notes) = notes
            && !had_traces
        {
            self.places[at].fresh = Some((text.clone(), notes));
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
        let Ok(Ok(graphs)) = tokio::time::timeout(GRAPH_WAIT, graphs).await else {
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
