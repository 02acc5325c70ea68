//! Extensions of GitHub Copilot: `NAME/extension.mjs` in `.github/extensions` of the project, then in
//! `~/.copilot/extensions` (dialects 1.5).

use std::path::PathBuf;

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use haft_config::{Config, paths};
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "copilot",
    name: "GitHub Copilot",
    family: Family::Js,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    vec![
        config.cwd.join(".github/extensions"),
        config.home.join(".copilot/extensions"),
    ]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let levels = [Level::Project, Level::User];
    for (folder, level) in places(context.config).iter().zip(levels) {
        let Some(entries) = collector.entries(folder) else {
            continue;
        };
        let mut folders: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
        folders.sort();
        for extension in folders {
            let module = extension.join("extension.mjs");
            if module.is_file() {
                collector.listed(module, paths::key(&extension), level);
            } else {
                collector.ignored(extension, "no extension.mjs in it");
            }
        }
    }
}
