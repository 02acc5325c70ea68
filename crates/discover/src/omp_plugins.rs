//! The `tools` folder of every extension package: those that oh-my-pi's settings name, then the
//! installed plugins.
//!
//! These folders are found by convention, so they come before the tools of plugin manifests and are
//! independent of them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::{Folder, SubFolders};
use super::{Provider, Verdict, package, plugins};
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "omp-plugins",
    name: "OMP Extension Packages",
    family: Family::Js,
    places: plugins::places,
    find,
};

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let mut seen = HashSet::new();
    for (root, level) in roots(context, collector) {
        if !seen.insert(root.clone()) || !package::is_sound(&root, collector) {
            continue;
        }
        let tools = root.join("tools");
        if let Some(mut folder) =
            Folder::read(&tools, level, SubFolders::Count, context.config, collector)
        {
            folder.take_files(collector);
            folder.take_indexes(collector);
        }
    }
}

fn roots(context: &ScanContext<'_>, collector: &mut Collector<'_>) -> Vec<(PathBuf, Level)> {
    let mut roots = Vec::new();
    for (root, level) in &context.settings.extensions {
        match fs::metadata(root) {
            Ok(found) if found.is_dir() => roots.push((root.clone(), *level)),
            // An extension may be a single file: oh-my-pi runs it as code, but it is not a package.
            Ok(_) => collector.ignored(root, "an extension that is a file brings no tools folder"),
            Err(_) => collector.note(root, Verdict::Missing),
        }
    }
    if context.plugins.is_empty() {
        return roots;
    }
    // Marketplace plugins are linked into `node_modules` too; `claude_plugins` collects them.
    let marketplace: HashSet<PathBuf> = context
        .marketplace
        .iter()
        .map(|root| real(&root.path))
        .collect();
    let installed = context
        .plugins
        .iter()
        .filter(|plugin| marketplace.is_empty() || !marketplace.contains(&real(&plugin.root)));
    roots.extend(installed.map(|plugin| (plugin.root.clone(), plugin.level)));
    roots
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
