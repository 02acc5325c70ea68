//! Codex's folders: `~/.codex/tools`, then `.codex/tools` of the project.
//!
//! The same rules as for Claude's: user first, files only.

use std::path::PathBuf;

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use super::folder::take_flat;
use haft_config::Config;
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "codex",
    name: "OpenAI Codex",
    family: Family::Js,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    vec![
        config.roots.codex.join("tools"),
        config.cwd.join(".codex/tools"),
    ]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let levels = [Level::User, Level::Project];
    for (folder, level) in places(context.config).iter().zip(levels) {
        take_flat(folder, level, context.config, collector);
    }
}
