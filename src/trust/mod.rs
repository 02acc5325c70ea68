//! Trust in a project: its code runs only if the user has trusted exactly these bytes.
//!
//! A grant is in the user's state directory, never in the project. It holds the hash of every file
//! that importing one of the project's tools can read, so any change asks again. The check reads
//! and parses files; it runs nothing.

mod grant;
mod outward_links;
mod review;

mod judge;
mod placeholder;
mod rights;

pub(crate) use crate::family::file_rights::FileRights;
pub use grant::{Change, How};
pub(crate) use haft_config::grants::real;
pub use haft_config::grants::{Project, Store};
pub(crate) use judge::{Doubted, Judged, look};
pub use outward_links::{OutwardLink, OutwardLinks};
pub(crate) use placeholder::untrusted;
pub use review::{
    ConfigKey, LackingRights, PackageUse, Review, Reviewed, ReviewedProfile, ReviewedSettings,
    ServerHost, State,
};
pub(crate) use rights::{FoundRights, RightsPlace, rights_of};

use std::path::PathBuf;

use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::graph::{Graph, Grapher};
use haft_tool::Family;

use crate::family::exec::gemini;
use crate::family::{mcp, plugin, shell};

pub(crate) use haft_tool::TRUST_HINT as HINT;

/// Returns the files that decide what runs: modules load other files by name, and commands start them.
fn graph(grapher: &Grapher, config: &Config, candidate: &Candidate) -> Graph {
    let file = &candidate.resolved;
    let named = match candidate.source.family {
        Family::Js => return grapher.graph(file),
        Family::Gemini => gemini::named_files(config, file),
        Family::Mcp => mcp::named_files(config, candidate),
        Family::Shell => shell::named_files(config, candidate),
        Family::Plugin => plugin::named_files(config, candidate),
        _ => Vec::new(),
    };
    match &named[..] {
        [] => grapher.lone_file(file),
        _ => grapher.with_files(file, named),
    }
}

/// Returns true if a candidate is a command of the user's own that haft starts to learn which tools
/// there are.
fn is_own_command(candidate: &Candidate) -> bool {
    let families = [
        Family::Gemini,
        Family::Mcp,
        Family::Kodelet,
        Family::Ikigai,
        Family::Amp,
    ];
    !candidate.needs_trust() && families.contains(&candidate.source.family)
}

/// Returns the path of the user's grant for the project, which may not exist.
pub(crate) fn grant_file(config: &Config) -> PathBuf {
    let store = Store::at(&config.state_dir, &config.home);
    store.place_of(&real(&config.cwd))
}

/// Returns the hash of the user's grant for the project, if there is one. The log of calls names
/// the grant by it.
pub(crate) fn grant_hash(config: &Config) -> Option<String> {
    let store = Store::at(&config.state_dir, &config.home);
    Some(store.hash_of(&real(&config.cwd))?.to_hex().to_string())
}
