//! Families: one folder for each system of tools, with its loader and runners. They do not depend
//! on each other.
//!
//! [`load`] is the only entry point: every family is given its own candidates at once, so that it
//! can decide about them together (one overrides another, all are described concurrently).

pub(crate) mod custom;
pub(crate) mod exec;
pub(crate) mod js;
mod native;
mod plugin;
mod read_within;
pub(crate) mod rights;
pub(crate) mod shell;

use std::sync::Arc;

use futures::join;

use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::{Engine, Module};
use haft_tool::{Family, Problem, Runner, Tool};

/// Result of loading one candidate: the tools that can be called, and the problems of the rest.
#[derive(Clone, Default)]
pub(crate) struct Loaded {
    pub(crate) tools: Vec<(Arc<Tool>, Arc<dyn Runner>)>,
    pub(crate) problems: Vec<Problem>,
    /// The tools come from the cache; the candidate was not asked.
    pub(crate) is_remembered: bool,
    /// The module that runs the tools, if there is one.
    pub(crate) module: Option<Module>,
    /// The candidate did not answer in time; another try may succeed.
    pub(crate) was_late: bool,
}

/// Returns the file of a trusted tool, relative to its project.
fn shown_file(candidate: &Candidate) -> String {
    let project = candidate.verified.as_ref().map(|files| {
        let alias = files.alias.as_ref();
        [Some(&files.project), alias].into_iter().flatten()
    });
    let mut projects = project.into_iter().flatten();
    let inside = projects.find_map(|project| candidate.resolved.strip_prefix(project).ok());
    let shown = inside.unwrap_or(&candidate.resolved);
    shown.display().to_string()
}

/// Context for loading.
pub(crate) struct LoadContext<'a> {
    pub(crate) config: &'a Config,
    pub(crate) engine: &'a Engine,
}

/// Loads candidates that may run; each result is at the index of its candidate. The families load
/// concurrently.
pub(crate) async fn load(means: &LoadContext<'_>, candidates: &[Candidate]) -> Vec<Loaded> {
    let js = Share::of(candidates, Family::Js);
    let kodelet = Share::of(candidates, Family::Kodelet);
    let ikigai = Share::of(candidates, Family::Ikigai);
    let native = Share::of(candidates, Family::Native);
    let plugin = Share::of(candidates, Family::Plugin);
    // aynd's plugins may not use the names of its built-in tools while those are enabled.
    let built_in = match native.candidates[..] {
        [] => &[][..],
        _ => &native::NAMES[..],
    };
    let shell = Share::of(candidates, Family::Shell);
    let (from_js, from_kodelet, from_ikigai, from_shell, from_native, from_plugin) = join!(
        js::load_all(means, &js.candidates),
        exec::kodelet::load_all(means, &kodelet.candidates),
        exec::ikigai::load_all(means, &ikigai.candidates),
        shell::load_all(means, &shell.candidates),
        native::load_all(means, &native.candidates),
        plugin::load_all(means, &plugin.candidates, built_in),
    );
    let mut all: Vec<Loaded> = candidates.iter().map(|_| Loaded::default()).collect();
    for (share, loaded) in [
        (js, from_js),
        (kodelet, from_kodelet),
        (ikigai, from_ikigai),
        (shell, from_shell),
        (native, from_native),
        (plugin, from_plugin),
    ] {
        share.put_back(loaded, &mut all);
    }
    for (candidate, loaded) in candidates.iter().zip(&mut all) {
        // The module loader reports its own, since it resolves the rights before it loads.
        if candidate.source.family != Family::Js {
            let found = rights::rights_of(means.config, candidate).problems;
            loaded.problems.extend(found);
        }
    }
    all
}

/// The candidates of one family, with their indexes among all.
struct Share<'a> {
    candidates: Vec<&'a Candidate>,
    places: Vec<usize>,
}

impl<'a> Share<'a> {
    fn of(candidates: &'a [Candidate], family: Family) -> Share<'a> {
        let mine = candidates.iter().enumerate();
        let mine = mine.filter(|(_, candidate)| candidate.source.family == family);
        let (places, candidates) = mine.unzip();
        Share { candidates, places }
    }

    fn put_back(&self, loaded: Vec<Loaded>, all: &mut [Loaded]) {
        debug_assert_eq!(
            loaded.len(),
            self.places.len(),
            "one result for each candidate"
        );
        for (place, loaded) in self.places.iter().zip(loaded) {
            all[*place] = loaded;
        }
    }
}
