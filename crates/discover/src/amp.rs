//! Amp's toolboxes: the folders of `AMP_TOOLBOX`, `~/.config/amp/tools`, `.agents/tools` of the project,
//! and `toolbox` in skills (dialects 1.6).
//!
//! The folders hold executables; other files (Amp's subagents, for example) are ignored.

use std::path::PathBuf;

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use super::executables;
use haft_config::{Config, paths};
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "amp",
    name: "Amp",
    family: Family::Amp,
    places,
    find,
};

/// Returns the folders with toolboxes. A folder of the variable that is below the working directory is
/// the project's.
fn folders(config: &Config) -> Vec<(PathBuf, Level)> {
    let level = |path: &PathBuf| {
        let is_projects = path.starts_with(&config.cwd) && config.cwd != config.home;
        if is_projects {
            Level::Project
        } else {
            Level::User
        }
    };
    let named = config.roots.amp_toolbox.iter();
    let named = named.map(|path| paths::resolve(&config.cwd, path));
    let named = named.map(|path| (path.clone(), level(&path)));
    let own = [
        (config.roots.config_home.join("amp/tools"), Level::User),
        (config.cwd.join(".agents/tools"), Level::Project),
    ];
    named.chain(own).collect()
}

/// Returns the folders whose sub-folders are skills.
fn skills(config: &Config) -> [(PathBuf, Level); 3] {
    let config_home = &config.roots.config_home;
    [
        (config_home.join("amp/skills"), Level::User),
        (config_home.join("agents/skills"), Level::User),
        (config.cwd.join(".agents/skills"), Level::Project),
    ]
}

fn places(config: &Config) -> Vec<PathBuf> {
    let places = folders(config).into_iter().chain(skills(config));
    places.map(|(path, _)| path).collect()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    for (folder, level) in folders(config) {
        executables::take(&folder, level, |_| None, collector);
    }
    for (folder, level) in skills(config) {
        let Some(entries) = collector.entries(&folder) else {
            continue;
        };
        let toolboxes = entries.iter().map(|entry| entry.path().join("toolbox"));
        let mut toolboxes: Vec<PathBuf> = toolboxes.filter(|path| path.is_dir()).collect();
        toolboxes.sort();
        for toolbox in toolboxes {
            executables::take(&toolbox, level, |_| None, collector);
        }
    }
}
