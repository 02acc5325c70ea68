//! Extensions of pi: `~/.pi/agent/extensions`, then `.pi/extensions` of the project (dialects 1.1).
//!
//! A module in the folder is an extension. So is a sub-folder, by the `pi.extensions` of its
//! `package.json` or by its index module.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::{manifest_index, not_regular};
use super::names::{Name, judge};
use super::text;
use super::{Provider, Verdict};
use haft_config::{Config, paths};
use haft_tool::{Family, Level, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "pi",
    name: "pi",
    family: Family::Js,
    places,
    find,
};

/// Returns pi's folder of the user, and the project's.
pub(super) fn roots(config: &Config) -> [(PathBuf, Level); 2] {
    [
        (config.home.join(".pi/agent"), Level::User),
        (config.cwd.join(".pi"), Level::Project),
    ]
}

fn places(config: &Config) -> Vec<PathBuf> {
    let roots = roots(config);
    roots.map(|(root, _)| root.join("extensions")).to_vec()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for (root, level) in roots(context.config) {
        take_folder(&root.join("extensions"), level, collector);
    }
}

/// Collects the extensions in a folder.
pub(super) fn take_folder(folder: &Path, level: Level, collector: &mut Collector<'_>) {
    let Some(entries) = collector.entries(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_none_or(|name| name.starts_with('.') || name == "node_modules") {
            continue;
        }
        take_entry(&path, level, collector);
    }
}

fn take_entry(path: &Path, level: Level, collector: &mut Collector<'_>) {
    let kind = match fs::metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) => return collector.ignored(path, paths::plain(&error)),
    };
    if kind.is_dir() {
        if !take_package(path, level, collector) {
            let reason = "no index.ts or index.js in it, and no package.json with `pi.extensions`";
            collector.ignored(path, reason);
        }
        return;
    }
    if !kind.is_file() {
        return collector.ignored(path, not_regular(kind));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match judge(&name) {
        Name::Module { .. } => collector.listed(path.to_owned(), paths::key(path), level),
        Name::Foreign(reason) => collector.ignored(path, reason),
        Name::Hidden => {}
    }
}

/// Collects the extensions of one package: those that its manifest names, else its index module, else
/// the modules in its folder `extensions`. Returns false if it has none of them.
pub(super) fn take_package(root: &Path, level: Level, collector: &mut Collector<'_>) -> bool {
    let manifest = root.join("package.json");
    let declared = text::json(&manifest, collector).value();
    let declared = declared.as_ref().and_then(|value| value.get("pi"));
    if let Some(list) = declared.and_then(|pi| pi.get("extensions")) {
        take_declared(root, &manifest, list, level, collector);
        return true;
    }
    collector.lists(root);
    if let Some(index) = manifest_index(root) {
        collector.listed(index, paths::key(root), level);
        return true;
    }
    let folder = root.join("extensions");
    let is_folder = folder.is_dir();
    if is_folder {
        take_folder(&folder, level, collector);
    }
    is_folder
}

/// Collects the extensions that a manifest names: files, folders, and `folder/*.ts`.
fn take_declared(
    root: &Path,
    manifest: &Path,
    list: &Value,
    level: Level,
    collector: &mut Collector<'_>,
) {
    let texts: Vec<&str> = match list.as_array() {
        Some(list) => list.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    for entry in collector.bounded(texts, "pi.extensions", manifest) {
        if let Some((folder, "*.ts" | "*.js" | "*")) = entry.rsplit_once('/') {
            take_folder(&paths::join(root, folder), level, collector);
            continue;
        }
        let path = paths::join(root, entry);
        if path.is_dir() {
            if manifest_index(&path).is_some() {
                take_entry(&path, level, collector);
            } else {
                take_folder(&path, level, collector);
            }
        } else if path.is_file() {
            collector.listed(path.clone(), paths::key(&path), level);
        } else {
            let message = format!("`pi.extensions` names `{entry}`, and there is no such file");
            let hint = "correct `pi.extensions` in this file, or install the package again";
            collector.problem(Problem::warning(message).at(manifest).hint(hint));
            collector.note(path, Verdict::Missing);
        }
    }
}
