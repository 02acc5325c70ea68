//! Families: one folder for each system of tools, with its loader and runners. They do not depend
//! on each other.
//!
//! [`load`] is the only entry point: every family is given its own candidates at once, so that it
//! can decide about them together (one overrides another, all are described concurrently).

#[cfg(feature = "cli")]
mod connections;
#[cfg(not(feature = "cli"))]
#[path = "no_connections.rs"]
mod connections;
mod credential_files;
pub(crate) mod custom;
pub(crate) mod exec;
pub(crate) mod file_rights;
mod http_tls;
pub(crate) mod js;
mod listing_folder;
mod loading;
#[cfg(feature = "cli")]
pub(crate) mod mcp;
mod native;
#[cfg(feature = "cli")]
mod pinned;
pub(crate) mod plugin;
mod program_files;
mod read_within;
mod refusals;
#[cfg(feature = "cli")]
pub(crate) mod remote;
pub(crate) mod rights;
pub(crate) mod shell;
mod tool_command;

use std::collections::BTreeSet;

use futures::join;

pub(crate) use connections::Connections;
#[cfg(not(feature = "cli"))]
pub(crate) use connections::mcp;
pub(crate) use file_rights::approvals_of;
use file_rights::{FileRights, RightsReader};
use haft_config::Config;
use haft_discover::Candidate;
use haft_tool::{Family, Problem, ToolRights};
pub(crate) use listing_folder::ListingFolder;
pub(crate) use loading::{LoadContext, Loaded, UpstreamServer};
pub(crate) use rights::unreadable_interpreters;

/// Loads candidates that may run; each result is at the index of its candidate. The families load
/// concurrently.
pub(crate) async fn load(
    means: &LoadContext<'_>,
    connections: &Connections,
    candidates: &[Candidate],
) -> Vec<Loaded> {
    // Read before the load: a change in between is found by the next comparison.
    let rights: Vec<Option<Result<FileRights, Box<Problem>>>> = {
        let reader = RightsReader::new(means.config);
        let others = candidates.iter().map(|candidate| {
            // The module loader sets its own, since it resolves the rights before it loads.
            let is_module = candidate.source.family == Family::Js;
            (!is_module).then(|| reader.of(candidate, &candidate.key))
        });
        others.collect()
    };
    let is_known = |place: usize| !matches!(rights[place], Some(Err(_)));
    let share_of = |family: Family| Share::of(candidates, family, is_known);
    let js = share_of(Family::Js);
    let kodelet = share_of(Family::Kodelet);
    let ikigai = share_of(Family::Ikigai);
    let amp = share_of(Family::Amp);
    let gemini = share_of(Family::Gemini);
    let native = share_of(Family::Native);
    let plugin = share_of(Family::Plugin);
    // aynd's plugins may not use the names of its built-in tools while those are enabled.
    let built_in = match native.candidates[..] {
        [] => &[][..],
        _ => &native::NAMES[..],
    };
    let shell = share_of(Family::Shell);
    let upstream = share_of(Family::Mcp);
    let others = share_of(Family::Remote);
    let (
        from_js,
        from_kodelet,
        from_ikigai,
        from_amp,
        from_gemini,
        from_shell,
        from_native,
        from_plugin,
        from_upstream,
        from_others,
    ) = join!(
        js::load_all(means, &js.candidates),
        exec::kodelet::load_all(means, &kodelet.candidates),
        exec::ikigai::load_all(means, &ikigai.candidates),
        exec::amp::load_all(means, &amp.candidates),
        exec::gemini::load_all(means, &gemini.candidates),
        shell::load_all(means, &shell.candidates),
        native::load_all(means, &native.candidates),
        plugin::load_all(means, &plugin.candidates, built_in),
        connections.load_mcp(means, &upstream.candidates),
        connections.load_remote(means, &others.candidates),
    );
    let mut all: Vec<Loaded> = candidates.iter().map(|_| Loaded::default()).collect();
    for (share, loaded) in [
        (js, from_js),
        (kodelet, from_kodelet),
        (ikigai, from_ikigai),
        (amp, from_amp),
        (gemini, from_gemini),
        (shell, from_shell),
        (native, from_native),
        (plugin, from_plugin),
        (upstream, from_upstream),
        (others, from_others),
    ] {
        share.put_back(loaded, &mut all);
    }
    for (rights, loaded) in rights.into_iter().zip(&mut all) {
        match rights {
            Some(Ok(rights)) => {
                loaded.problems.extend(rights.problems);
                loaded.rights = Some(rights.rights);
            }
            Some(Err(problem)) => loaded.problems.push(*problem),
            None => {}
        }
    }
    report_missing_layers(candidates, &mut all);
    all
}

/// Returns the rights that the files have now, in the form of [`Loaded::rights`].
pub(crate) fn rights_of(config: &Config, candidates: &[&Candidate]) -> Vec<Option<ToolRights>> {
    let reader = RightsReader::new(config);
    let rights = candidates.iter().map(|candidate| {
        let read = reader.of(candidate, &candidate.key).ok();
        read.map(|read| read.rights)
    });
    rights.collect()
}

/// Adds one problem for each restriction that the sandboxes of the tools lack on this machine.
fn report_missing_layers(candidates: &[Candidate], all: &mut [Loaded]) {
    let mut reported = BTreeSet::new();
    for (candidate, loaded) in candidates.iter().zip(all) {
        let runners = loaded.tools.iter().map(|(_, runner)| runner);
        let bounds = runners.filter_map(|runner| runner.bounds());
        let missing: Vec<String> = bounds.flat_map(|it| it.missing.clone()).collect();
        for missing in missing {
            let text = format!("this system does not enforce {missing}");
            if reported.insert(missing) {
                loaded
                    .problems
                    .push(Problem::warning(text).at(&candidate.path).hint(
                    "`haft doctor` names every such restriction; `sandbox.required: true` refuses \
                     tools that need one",
                ));
            }
        }
    }
}

/// The candidates of one family, with their indexes among all.
struct Share<'a> {
    candidates: Vec<&'a Candidate>,
    places: Vec<usize>,
}

impl<'a> Share<'a> {
    /// Returns the candidates of a family at the indexes for which `is_known` is true.
    fn of(
        candidates: &'a [Candidate],
        family: Family,
        is_known: impl Fn(usize) -> bool,
    ) -> Share<'a> {
        let mine = candidates.iter().enumerate();
        let mine =
            mine.filter(|(place, candidate)| candidate.source.family == family && is_known(*place));
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
