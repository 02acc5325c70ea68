//! Discovery of tool files: one file per provider, one table, one [`scan`].
//!
//! Only manifests, settings and ignore files are opened; the families check whether a file really
//! holds a tool. The order, the keys, the shadowing and `.gitignore` follow oh-my-pi to the letter,
//! but every file that is left out is reported.

mod collector;
mod shadowed;

mod executables;
mod folder;
mod gitignore;
mod names;

mod context;
mod decisions;
mod marketplace;
mod package;
mod plugins;
mod settings;
mod text;

mod amp;
mod aynd;
mod builtin;
mod claude;
mod claude_plugins;
mod codex;
mod configured;
mod copilot;
mod cycod;
mod gemini;
mod ikigai;
mod kodelet;
mod manifests;
mod mcp;
mod native;
mod omp_plugins;
mod opencode;
mod opencode_config;
mod pi;
mod pi_packages;
mod remote;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collector::Collector;
use context::ScanContext;
pub use decisions::{Decisions, decisions};
pub use gemini::GeminiCommands;
use haft_config::{Config, ToolPlace};
use haft_tool::{Family, Level, Problem, Source, TrustDomain, VerifiedFiles};
pub use mcp::imported_files;
use settings::OmpSettings;
use shadowed::ShadowedFiles;

/// Result of a scan: the candidates, the problems, and everything that was looked at.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Files that should hold tools, in the order in which they claim names.
    pub candidates: Vec<Candidate>,
    /// The problems of the scan.
    pub problems: Vec<Problem>,
    /// Every file and folder that was looked at, with its verdict.
    pub looked_at: Vec<LookedAt>,
    /// The places that decide the result, to watch them for changes.
    pub places: Places,
    /// Shadowed files: another file has their key.
    spares: Vec<ShadowedFiles>,
    /// Set if a plugin of the project replaces one of the user's.
    pub has_replaced: bool,
}

/// Places that decide the result of a scan. A change at one of them means that a new scan is
/// needed. Many of them do not exist.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Folders in which every entry counts.
    pub folders: BTreeSet<PathBuf>,
    /// Single paths whose content or existence counts.
    pub files: BTreeSet<PathBuf>,
}

/// A file, or a folder given by name, that should hold tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The path as given or found.
    pub path: PathBuf,
    /// The path made absolute; links are not followed.
    pub resolved: PathBuf,
    /// Its key among files: its name without extension, or its folder's name.
    pub key: String,
    /// The provider that found it, its level and its family.
    pub source: Source,
    /// The text after `?` in a path given by name. It requests a fresh instance of the module.
    pub query: Option<String>,
    /// Set if the project's own configuration names it, not the user.
    pub named_by_project: bool,
    /// The bytes that may run for it. `None` if it is the user's own, or trusted without a
    /// question.
    pub verified: Option<Arc<VerifiedFiles>>,
}

impl Candidate {
    /// Returns true if the project brings the tool, so that the user has to trust it first. A path
    /// that the user gave by name is trusted by that, although oh-my-pi calls its level `project`.
    pub fn needs_trust(&self) -> bool {
        self.named_by_project
            || (self.source.level == Level::Project && self.source.provider != configured::ID)
    }

    /// Returns the level whose permissions and limits apply to the tool.
    pub fn bounds_level(&self) -> Level {
        if self.needs_trust() {
            Level::Project
        } else {
            Level::User
        }
    }

    /// Returns the party that the tool's code belongs to. Trusting a project does not make its code
    /// the user's.
    pub fn trust_domain(&self) -> TrustDomain {
        let is_plugin = PLUGIN_PROVIDERS.contains(&self.source.provider.as_str());
        match self.needs_trust() {
            true => TrustDomain::Project,
            false if is_plugin => TrustDomain::Plugins,
            false => TrustDomain::User,
        }
    }

    /// Returns what decides the profile of its tools.
    pub fn place<'a>(&self, name: &'a str) -> ToolPlace<'a> {
        ToolPlace {
            domain: self.trust_domain(),
            family: self.source.family,
            name,
        }
    }

    /// Checks the file's bytes against those that the user trusted.
    ///
    /// # Errors
    /// Returns the problem if they differ.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), Box<Problem>> {
        let Some(verified) = &self.verified else {
            return Ok(());
        };
        let checked = verified.check_entry(&self.resolved, &blake3::hash(bytes));
        checked.map_err(|why| Box::new(Problem::error(why.refusal(&self.path)).at(&self.path)))
    }

    /// Returns the name that its tool has, as far as the file's name shows it.
    pub fn likely_name(&self) -> String {
        match self.source.family {
            Family::Ikigai => self.key.replace('-', "_"),
            family => format!("{}{}", family.prefix(), self.key),
        }
    }
}

/// A path that was looked at, for `haft doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    /// The file or folder.
    pub path: PathBuf,
    /// The id of the provider that looked.
    pub provider: String,
    /// The result.
    pub verdict: Verdict,
}

/// Result for a path that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is a candidate for its family.
    Candidate,
    /// A file of the same key came first.
    Shadowed {
        /// The file that came first.
        by: PathBuf,
    },
    /// The same path was already found.
    Duplicate {
        /// The path that was found first.
        of: PathBuf,
    },
    /// It is not a tool file.
    Ignored {
        /// The reason, and what to do if it should be a tool.
        reason: String,
    },
    /// It is switched off.
    Disabled {
        /// The file or setting that switches it off.
        by: String,
    },
    /// The path does not exist.
    Missing,
}

/// A source of tools.
pub struct Provider {
    /// Its id, as configurations write it.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// The family of its files.
    pub family: Family,
    /// Returns its places, to list them when it is switched off.
    places: fn(&Config) -> Vec<PathBuf>,
    find: fn(&ScanContext<'_>, &mut Collector<'_>),
}

impl Provider {
    /// Returns the family of a file. A YAML file that is given by name is a shell tool, because as
    /// a module it could only be data.
    fn family_of(&self, file: &Path) -> Family {
        let is_yaml = file.extension().is_some_and(|it| it == "yaml");
        match self.id {
            configured::ID if is_yaml => Family::Shell,
            _ => self.family,
        }
    }
}

/// All providers, in the order of precedence: the first one claims a name.
pub const PROVIDERS: &[Provider] = &[
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
    pi::PROVIDER,
    pi_packages::PROVIDER,
    opencode::PROVIDER,
    opencode_config::PROVIDER,
    copilot::PROVIDER,
    amp::PROVIDER,
    gemini::PROVIDER,
    mcp::PROVIDER,
    mcp::PROJECT_PROVIDER,
    mcp::IMPORT_PROVIDER,
    remote::PROVIDER,
];

/// The providers of packages by other authors.
const PLUGIN_PROVIDERS: [&str; 5] = [
    omp_plugins::PROVIDER.id,
    claude_plugins::PROVIDER.id,
    manifests::PROVIDER.id,
    pi_packages::PROVIDER.id,
    opencode_config::PROVIDER.id,
];

/// Scans every place that may have tools, as for a project that the user trusts. Runs nothing and
/// imports nothing.
pub fn scan(config: &Config) -> Scan {
    scan_as(config, true)
}

/// Scans every place that may have tools. Runs nothing and imports nothing.
///
/// `project_decides` is set if the user trusts the project's settings. Otherwise these settings
/// only add the project's tools to the list. They change nothing about the tools, plugins and
/// features of the user.
pub fn scan_as(config: &Config, project_decides: bool) -> Scan {
    let mut collector = Collector::new(config, &native::PROVIDER);
    let context = gather(config, project_decides, &mut collector);
    for provider in PROVIDERS {
        collector.set_provider(provider);
        match context.switched_off(provider.id) {
            Some(by) => {
                for place in (provider.places)(config) {
                    collector.note(place, Verdict::Disabled { by: by.clone() });
                }
            }
            None => (provider.find)(&context, &mut collector),
        }
    }
    collector.finish()
}

/// Resolves paths that a host loads by name; each candidate keeps its path as given.
pub fn given(config: &Config, paths: &[String]) -> Scan {
    let mut collector = Collector::new(config, &native::PROVIDER);
    collector.set_provider(&configured::PROVIDER);
    configured::take(config, paths, configured::Keep::AsGiven, &mut collector);
    collector.finish()
}

/// Reads oh-my-pi's settings, the installed plugins and Claude's marketplace plugins. The providers
/// decide what they mean.
fn gather<'a>(
    config: &'a Config,
    project_decides: bool,
    collector: &mut Collector<'_>,
) -> ScanContext<'a> {
    if let Some(profile) = &config.roots.refused_profile {
        let message = format!("`{profile}` is not a profile name; the default profile is used");
        let hint = "set OMP_PROFILE to lower-case letters, digits, dots, dashes and underscores";
        collector.problem(Problem::warning(message).hint(hint));
    }
    let settings = OmpSettings::read(config, project_decides, collector);
    check_switches(config, collector);
    for id in &config.disabled_extensions {
        collector.disable(
            id.clone(),
            "`disabled_extensions` of haft's configuration".to_owned(),
        );
    }
    for (id, file) in &settings.disabled_extensions {
        collector.disable(
            id.clone(),
            format!("`disabledExtensions` in {}", file.display()),
        );
    }
    let mut context = ScanContext {
        config,
        settings,
        plugins: Vec::new(),
        marketplace: Vec::new(),
    };
    let anchor = plugins::project_anchor(config);
    collector.reads(config.cwd.join(&config.roots.omp_name));
    let wanted = |ids: &[&str]| ids.iter().any(|id| context.switched_off(id).is_none());
    let (plugins, roots) = (
        wanted(&[omp_plugins::PROVIDER.id, manifests::PROVIDER.id]),
        wanted(&[omp_plugins::PROVIDER.id, claude_plugins::PROVIDER.id]),
    );
    if roots {
        collector.set_provider(&claude_plugins::PROVIDER);
        context.marketplace =
            marketplace::roots(config, anchor.as_deref(), project_decides, collector);
    }
    if plugins {
        collector.set_provider(&manifests::PROVIDER);
        context.plugins = plugins::enabled(config, anchor.as_deref(), project_decides, collector);
    }
    context
}

/// Reports unknown provider ids and invalid extension ids in our own configuration's off switches.
fn check_switches(config: &Config, collector: &mut Collector<'_>) {
    for off in &config.disabled_providers {
        if !PROVIDERS.iter().any(|provider| provider.id == off) {
            let ids: Vec<&str> = PROVIDERS.iter().map(|provider| provider.id).collect();
            let message = format!("`disabled_providers` names `{off}`, which is not a provider");
            collector
                .problem(Problem::warning(message).hint(format!("there are: {}", ids.join(", "))));
        }
    }
    for off in &config.disabled_extensions {
        if !off.starts_with("tool:") {
            let message =
                format!("`disabled_extensions` names `{off}`, which is not an extension id");
            collector.problem(Problem::warning(message).hint(format!("write `tool:{off}`")));
        }
    }
}
