//! Tool files and plugins of opencode: `.opencode` from the working directory up to the root of the
//! repository, then `~/.config/opencode` (dialects 1.2).
//!
//! Only files directly in `tool`, `tools`, `plugin` and `plugins` count.

use std::path::{Path, PathBuf};

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::{Folder, SubFolders};
use super::{Provider, Verdict};
use haft_config::Config;
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "opencode",
    name: "opencode",
    family: Family::Js,
    places,
    find,
};

const NAMES: [&str; 4] = ["tool", "tools", "plugin", "plugins"];

/// Returns the folders of opencode with the levels of their tools.
pub(super) fn roots(config: &Config) -> Vec<(PathBuf, Level)> {
    let is_root = |directory: &&Path| directory.join(".git").exists();
    let repository = config.cwd.ancestors().find(is_root).unwrap_or(&config.cwd);
    let inside = (config.cwd.ancestors()).take_while(|directory| directory.starts_with(repository));
    let of_project = inside.map(|directory| (directory.join(".opencode"), Level::Project));
    let of_user = (config.roots.config_home.join("opencode"), Level::User);
    of_project.chain([of_user]).collect()
}

fn places(config: &Config) -> Vec<PathBuf> {
    roots(config).into_iter().map(|(path, _)| path).collect()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for (root, level) in roots(context.config) {
        // Most projects have no such folder; four places in it need not be reported then.
        if !root.is_dir() {
            collector.note(root, Verdict::Missing);
            continue;
        }
        for path in NAMES.map(|name| root.join(name)) {
            let none = SubFolders::AreIgnored;
            if let Some(mut folder) = Folder::read(&path, level, none, context.config, collector) {
                folder.list_files(collector);
            }
        }
    }
}
