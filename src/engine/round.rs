//! One round of loading modules: what is remembered is not loaded, and the rest is remembered.
//!
//! The modules that must be loaded are loaded one after another, because what one does to the globals
//! the next one sees. Beside that, on another thread, they are compiled and their graphs are found.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use url::Url;

use super::cache::{Cache, Fresh};
use super::compiled::Compiled;
use super::graph::{Graph, Grapher, Lesson, on_deep_stack};
use super::loader::Ahead;
use super::witness::Notes;
use super::{Engine, IsolateKey, LoadFailure, Module};

/// How long is waited for graphs after the last module was loaded: nobody needs them to go on.
const PATIENCE: Duration = Duration::from_secs(2);

/// A module to load: an absolute path, and the query that is to be in its URL.
pub struct Wanted<'a> {
    /// The file.
    pub path: &'a Path,
    /// What comes behind `?`.
    pub query: Option<&'a str>,
    /// Where it runs.
    pub key: IsolateKey,
}

/// A module, and what it says about itself.
pub struct Described {
    /// What runs its tools.
    pub module: Module,
    /// The JSON `{tools: […]}`.
    pub text: String,
    /// It was remembered; the module is loaded when it is needed.
    pub is_remembered: bool,
}

/// A round of loading. Ask for the modules in the order in which they were announced.
pub struct Round {
    engine: Engine,
    cache: Option<Arc<Cache>>,
    places: Vec<Place>,
    next: usize,
    graphs: Option<oneshot::Receiver<(Ahead, Vec<Graph>)>>,
    /// The isolates in which a module left something behind that those after it can see. Their
    /// descriptions hold only beside that module.
    traces: HashSet<IsolateKey>,
}

struct Place {
    url: Option<Url>,
    key: IsolateKey,
    path: PathBuf,
    known: Option<String>,
    fresh: Option<(String, Notes)>,
}

impl Engine {
    /// Begins to load these modules.
    pub async fn round(&self, wanted: &[Wanted<'_>]) -> Round {
        let place = |wanted: &Wanted<'_>| Place {
            url: url_of(wanted),
            key: wanted.key.clone(),
            path: wanted.path.to_owned(),
            known: None,
            fresh: None,
        };
        let mut round = Round {
            engine: self.clone(),
            cache: self.0.cache.clone(),
            places: wanted.iter().map(place).collect(),
            next: 0,
            graphs: None,
            traces: HashSet::new(),
        };
        if let Some(cache) = round.cache.clone() {
            let url = |place: &Place| place.url.as_ref().map(Url::to_string).unwrap_or_default();
            let urls: Vec<_> = round.places.iter().map(url).collect();
            let found = tokio::task::spawn_blocking(move || cache.find(&urls)).await;
            for (place, known) in round.places.iter_mut().zip(found.unwrap_or_default()) {
                place.known = known;
            }
        }
        round.work_ahead();
        round
    }
}

impl Round {
    /// Has everything that can be done without an isolate done beside it, in the order of need.
    fn work_ahead(&mut self) {
        let unknown = self.places.iter().filter(|place| place.known.is_none());
        let paths: Vec<_> = unknown.map(|place| place.path.clone()).collect();
        if paths.is_empty() {
            return;
        }
        let ahead = Ahead::announce(paths.clone());
        let lesson = self.cache.is_some().then(Lesson::begin);
        let (done, graphs) = oneshot::channel();
        // Not one of the runtime's threads: those are waited for when the program ends.
        let thread = std::thread::Builder::new().name("haft-ahead".into());
        let compiled = Compiled::open(&self.engine.0.options);
        let started = thread.spawn(move || {
            let graphs = on_deep_stack(|| {
                ahead.compile(compiled);
                let grapher = Grapher::default();
                let graph = |path: &PathBuf| lesson.as_ref().map(|_| grapher.graph(path));
                paths.iter().filter_map(graph).collect()
            });
            // Together: until then the isolate still takes what is ready. Nobody has to want it.
            let _ = done.send((ahead, graphs));
        });
        self.graphs = started.is_ok().then_some(graphs);
    }

    /// The next module.
    ///
    /// # Errors
    /// With the module's own error, or ours when it did not end in time.
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
        let key = place.key.clone();
        let had_traces = self.traces.contains(&key);
        if !had_traces && let Some(text) = place.known.clone() {
            let module = self.engine.remembered(url, key, &text);
            return Ok(Described {
                module,
                text,
                is_remembered: true,
            });
        }
        let (loaded, notes) = self.engine.load_url(url, key.clone()).await;
        if notes.as_ref().is_none_or(|notes| notes.leaves_traces) {
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

    /// Remembers what was loaded.
    pub async fn finish(self) {
        let (Some(cache), Some(graphs)) = (self.cache, self.graphs) else {
            return;
        };
        let Ok(Ok((_ahead, graphs))) = tokio::time::timeout(PATIENCE, graphs).await else {
            return;
        };
        let unknown = self
            .places
            .into_iter()
            .filter(|place| place.known.is_none());
        let fresh = unknown.zip(graphs).filter_map(|(place, graph)| {
            let (described, notes) = place.fresh?;
            Some(Fresh {
                url: place.url?.to_string(),
                described,
                graph,
                notes,
            })
        });
        let fresh: Vec<_> = fresh.collect();
        // Whatever becomes of it, the tools are loaded.
        let _ = tokio::task::spawn_blocking(move || cache.keep(fresh)).await;
    }
}

fn url_of(wanted: &Wanted<'_>) -> Option<Url> {
    let mut url = Url::from_file_path(wanted.path).ok()?;
    url.set_query(wanted.query);
    Some(url)
}
