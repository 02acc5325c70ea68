//! Where tools may be: one file per provider, one table, one [`scan`].
//!
//! Nothing is opened but manifests, settings and ignore files; whether a file really holds
//! a tool is its family's business. The hard part is fidelity: order, keys, shadowing and
//! `.gitignore` follow oh-my-pi to the letter, but nothing happens silently.

mod spare;
mod sweep;

mod executables;
mod folder;
mod gitignore;
mod names;

mod decisions;
mod ground;
mod marketplace;
mod package;
mod plugins;
mod settings;
mod text;

mod aynd;
mod builtin;
mod claude;
mod claude_plugins;
mod codex;
mod configured;
mod cycod;
mod ikigai;
mod kodelet;
mod manifests;
mod native;
mod omp_plugins;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Config;
use crate::tool::{Family, Level, Problem, Source, TrustDomain, VerifiedFiles};
pub(crate) use decisions::{Decisions, decisions};
use ground::Ground;
use spare::Spare;
use sweep::Sweep;

/// Everything that was found, and everything that was looked at.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Files that should hold tools, in the order in which they claim names.
    pub candidates: Vec<Candidate>,
    /// What is wrong with what was found.
    pub problems: Vec<Problem>,
    /// Every file and folder that was looked at, with what became of it.
    pub looked_at: Vec<LookedAt>,
    /// What all of this depends on.
    pub places: Places,
    /// Files whose keys were taken.
    spares: Vec<Spare>,
    /// A plugin of the project stands in the place of one of the user's.
    pub(crate) has_replaced: bool,
}

/// What decides what there is: who watches these places knows when to look again. Many of them are
/// empty.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Folders of which every entry counts.
    pub folders: BTreeSet<PathBuf>,
    /// Everything else, where it counts what lies there.
    pub files: BTreeSet<PathBuf>,
}

/// A file, or a folder given by name, that should hold tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The path as given or found.
    pub path: PathBuf,
    /// The path made absolute; links are not followed.
    pub resolved: PathBuf,
    /// What it is known by among files: its name without extension, or its folder's name.
    pub key: String,
    /// Who found it, and whose it is.
    pub source: Source,
    /// What follows `?` in a path given by name: asks for a fresh instance of the module.
    pub query: Option<String>,
    /// The project's own configuration gives its name, not the user.
    pub named_by_project: bool,
    /// The bytes that may run for it. `None`: it is the user's own, or trusted without a question.
    pub verified: Option<Arc<VerifiedFiles>>,
}

impl Candidate {
    /// Whether the project brings it, so that the user has to trust it first. A path that
    /// the user gave by name is trusted by that, although oh-my-pi calls it `project`.
    pub fn needs_trust(&self) -> bool {
        self.named_by_project
            || (self.source.level == Level::Project && self.source.provider != configured::ID)
    }

    /// The level whose permissions and limits hold for the tool.
    pub fn bounds_level(&self) -> Level {
        match self.needs_trust() {
            true => Level::Project,
            false => Level::User,
        }
    }

    /// The party that the tool's code belongs to. Trusting a project does not make its code the
    /// user's.
    pub fn trust_domain(&self) -> TrustDomain {
        let is_plugin = PLUGIN_PROVIDERS.contains(&self.source.provider.as_str());
        match self.needs_trust() {
            true => TrustDomain::Project,
            false if is_plugin => TrustDomain::Plugins,
            false => TrustDomain::User,
        }
    }

    /// Checks the bytes that were read of the file against what the user trusted.
    ///
    /// # Errors
    /// With the problem if they are others.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), Box<Problem>> {
        let Some(verified) = &self.verified else {
            return Ok(());
        };
        let checked = verified.check_entry(&self.resolved, &blake3::hash(bytes));
        checked.map_err(|why| Box::new(Problem::error(why.refusal(&self.path)).at(&self.path)))
    }

    /// The name that its tool has, as far as the file's own name tells.
    pub fn likely_name(&self) -> String {
        match self.source.family {
            Family::Kodelet => format!("custom_tool_{}", self.key),
            Family::Ikigai => self.key.replace('-', "_"),
            _ => self.key.clone(),
        }
    }
}

/// One thing that was looked at, for `haft doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    /// The file or folder.
    pub path: PathBuf,
    /// The id of the provider that looked.
    pub provider: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to its family.
    Candidate,
    /// A file of the same key came first.
    Shadowed {
        /// The file that came first.
        by: PathBuf,
    },
    /// The same path was found before.
    Duplicate {
        /// The path as it was found first.
        of: PathBuf,
    },
    /// It is no tool file.
    Ignored {
        /// Why, and what to do if it should be one.
        reason: String,
    },
    /// Somebody switched it off.
    Disabled {
        /// The file or setting that says so.
        by: String,
    },
    /// There is nothing at this path.
    Missing,
}

/// A place where tools come from.
pub(crate) struct Provider {
    /// Its id, as configurations write it.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What its files are written for.
    pub family: Family,
    /// The places it stands for, to name them when it is switched off.
    places: fn(&Config) -> Vec<PathBuf>,
    find: fn(&Ground<'_>, &mut Sweep<'_>),
}

impl Provider {
    /// What a file is written for. A YAML file that somebody names is a shell tool: as a module it
    /// could only be data.
    fn family_of(&self, file: &Path) -> Family {
        let is_yaml = file.extension().is_some_and(|it| it == "yaml");
        match self.id {
            configured::ID if is_yaml => Family::Shell,
            _ => self.family,
        }
    }
}

/// All providers. The order is meaning: whoever is first claims a name.
pub(crate) const PROVIDERS: &[Provider] = &[
    builtin::PROVIDER,
    native::PROVIDER,
    omp_plugins::PROVIDER,
    claude::PROVIDER,
    claude_plugins::PROVIDER,
    codex::PROVIDER,
    manifests::PROVIDER,
    configured::PROVIDER,
    kodelet::PROVIDER,
    ikigai::PROVIDER,
    cycod::PROVIDER,
    aynd::PROVIDER,
];

/// The providers of packages that other people wrote.
const PLUGIN_PROVIDERS: [&str; 3] = [
    omp_plugins::PROVIDER.id,
    claude_plugins::PROVIDER.id,
    manifests::PROVIDER.id,
];

/// Looks in every place where tools may be, as for a project that the user trusts. Runs nothing and
/// imports nothing.
pub fn scan(config: &Config) -> Scan {
    scan_as(config, true)
}

/// Looks in every place where tools may be. Runs nothing and imports nothing. `project_decides`: the
/// user trusts the project's settings. Otherwise these only add tools of the project to the list, and
/// change nothing about the tools, plugins and features of the user.
pub(crate) fn scan_as(config: &Config, project_decides: bool) -> Scan {
    let mut sweep = Sweep::new(config);
    let ground = Ground::survey(config, project_decides, &mut sweep);
    for provider in PROVIDERS {
        sweep.turn_to(provider);
        match ground.switched_off(provider.id) {
            Some(by) => {
                for place in (provider.places)(config) {
                    sweep.note(place, Verdict::Disabled { by: by.clone() });
                }
            }
            None => (provider.find)(&ground, &mut sweep),
        }
    }
    sweep.finish()
}

/// Resolves paths that a host asks to load by name; each candidate keeps its path as given.
pub fn given(config: &Config, paths: &[String]) -> Scan {
    let mut sweep = Sweep::new(config);
    sweep.turn_to(&configured::PROVIDER);
    configured::take(config, paths, configured::Keep::AsGiven, &mut sweep);
    sweep.finish()
}
