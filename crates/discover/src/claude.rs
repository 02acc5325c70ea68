//! Claude Code's folders: `~/.claude/tools`, then `.claude/tools` of the project.
//!
//! Here the user comes before the project, the opposite of oh-my-pi's own folders. Sub-folders are
//! not tools, because people keep scripts and virtual environments in them.

use std::path::PathBuf;

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use super::folder::take_flat;
use haft_config::Config;
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "claude",
    name: "Claude Code",
    family: Family::Js,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    vec![
        config.roots.claude.join("tools"),
        config.cwd.join(".claude/tools"),
    ]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let levels = [Level::User, Level::Project];
    for (folder, level) in places(context.config).iter().zip(levels) {
        take_flat(folder, level, context.config, collector);
    }
}
