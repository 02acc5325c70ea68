//! The `tools` folder of every plugin that Claude Code's marketplaces installed.
//!
//! `marketplace` decides which plugins are active; this module only reads their folders.

use std::path::PathBuf;

use super::folder::take_flat;
use super::ground::Ground;
use super::sweep::Sweep;
use super::{Provider, package};
use crate::config::Config;
use crate::tool::Family;

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

fn find(ground: &Ground<'_>, sweep: &mut Sweep<'_>) {
    for root in &ground.marketplace {
        if package::is_sound(&root.path, sweep) {
            take_flat(&root.path.join("tools"), root.level, ground.config, sweep);
        }
    }
}
