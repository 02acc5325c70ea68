//! The `tools` folder of every plugin that Claude Code's marketplaces installed.
//!
//! `marketplace` decides which plugins are active; this module only reads their folders.

use std::path::PathBuf;

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::take_flat;
use super::{Provider, package};
use haft_config::Config;
use haft_tool::Family;

pub(super) const PROVIDER: Provider = Provider {
    id: "claude-plugins",
    name: "Claude Code Marketplace",
    family: Family::Js,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    vec![config.roots.claude.join("plugins/installed_plugins.json")]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for root in &context.marketplace {
        if package::is_sound(&root.path, collector) {
            take_flat(
                &root.path.join("tools"),
                root.level,
                context.config,
                collector,
            );
        }
    }
}
