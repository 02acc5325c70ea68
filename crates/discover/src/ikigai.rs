//! ikigai's directories: `PREFIX/libexec/haft`, `PREFIX/libexec/ikigai`, `~/.ikigai/tools`, and on
//! demand `.ikigai/tools` of the project.
//!
//! Tools that come with haft or are installed for all users have the level of the host. The family
//! decides which of two tools of one name counts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use super::executables;
use haft_config::Config;
use haft_tool::{Family, Level};

/// Tools that come with haft and are off by default, because they write files and run commands.
const SYSTEM_TOOLS: &[&str] = &[
    "bash",
    "file-edit",
    "file-read",
    "file-write",
    "glob",
    "grep",
];

pub(super) const PROVIDER: Provider = Provider {
    id: "ikigai",
    name: "ikigai",
    family: Family::Ikigai,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    let places = levels(config).into_iter();
    places.map(|(place, _)| place.to_owned()).collect()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    for (place, level) in levels(config) {
        let is_off = |file: &OsStr| {
            // Only haft's own directory is affected: in ikigai's own directory these names are
            // intended.
            let is_ours = config.ikigai.system_dir.as_deref() == Some(place);
            let is_system = is_ours && SYSTEM_TOOLS.iter().any(|name| file == *name);
            (is_system && !config.system_tools)
                .then_some("`system_tools: false`; `--system-tools` offers it")
        };
        executables::take(place, level, is_off, collector);
    }
}

fn levels(config: &Config) -> Vec<(&Path, Level)> {
    let ikigai = &config.ikigai;
    let places = [
        (&ikigai.system_dir, Level::Host),
        (&ikigai.installation_dir, Level::Host),
        (&ikigai.user_dir, Level::User),
        (&ikigai.project_dir, Level::Project),
    ];
    let known = places.into_iter();
    known
        .filter_map(|(place, level)| Some((place.as_deref()?, level)))
        .collect()
}
