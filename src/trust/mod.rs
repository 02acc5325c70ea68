//! Trust in a project: its code runs only if the user has trusted exactly these bytes.
//!
//! A grant is in the user's state directory, never in the project. It holds the hash of every file
//! that importing one of the project's tools can read, so any change asks again. The check reads
//! and parses files; it runs nothing.

mod store;

mod grant;
mod review;

mod judge;
mod placeholder;

pub(crate) use grant::real;
pub use grant::{Change, How};
pub(crate) use judge::{Judged, look};
pub(crate) use placeholder::untrusted;
pub use review::{ConfigKey, PackageUse, Review, Reviewed, ReviewedSettings, State};
pub use store::{Project, Store};

use std::path::PathBuf;

use crate::config::{Config, Env, Flags, ProjectFile};
use crate::discover::Candidate;
use crate::engine::graph::{Graph, Grapher};
use crate::error::Error;
use crate::tool::Family;

pub(crate) use crate::tool::TRUST_HINT as HINT;

impl Config {
    /// Reads the process's environment and the configuration files, and resolves the configuration.
    /// The project's own file counts only if the user trusts it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an invalid setting, with its position and
    /// a hint.
    pub fn resolve(flags: Flags) -> Result<Config, Error> {
        Config::resolve_with(flags, &Env::from_process())
    }

    /// Resolves the configuration with an environment of the caller's choice.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn resolve_with(flags: Flags, env: &Env) -> Result<Config, Error> {
        Config::decide(flags, env, is_granted)
    }
}

/// Returns the files that decide what runs. Only modules load other files by name.
fn graph(grapher: &Grapher, candidate: &Candidate) -> Graph {
    match candidate.source.family {
        Family::Js => grapher.graph(&candidate.resolved),
        Family::Kodelet | Family::Ikigai | Family::Shell | Family::Plugin | Family::Native => {
            grapher.lone_file(&candidate.resolved)
        }
    }
}

/// Returns the path of the user's grant for the project, which may not exist.
pub(crate) fn grant_file(config: &Config) -> PathBuf {
    let store = Store::at(&config.state_dir, &config.home);
    store.file_of(&grant::real(&config.cwd))
}

/// Returns the hash of the user's grant for the project, if there is one. The log of calls names
/// the grant by it.
pub(crate) fn grant_hash(config: &Config) -> Option<String> {
    let grant = std::fs::read(grant_file(config)).ok()?;
    Some(blake3::hash(&grant).to_hex().to_string())
}

fn is_granted(file: &ProjectFile<'_>) -> bool {
    let store = Store::at(file.state_dir, file.home);
    let project = grant::real(file.project);
    // A store that cannot be read is reported when tools are judged.
    let grant = store.read(&project).ok().flatten();
    grant.is_some_and(|grant| grant.allows_config(file.text))
}
