//! Packages of pi that the settings name: `packages` and `extensions` of `~/.pi/agent/settings.json`, then
//! of `.pi/settings.json` of the project (dialects 1.1).
//!
//! pi has installed them: packages of npm in `npm/node_modules`, clones of git in `git/HOST/PATH`,
//! both beside the settings. haft installs nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Collector;
use super::context::ScanContext;
use super::{Provider, Verdict, pi, text};
use haft_config::{Config, paths};
use haft_tool::{Family, Level, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "pi-packages",
    name: "pi packages",
    family: Family::Js,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    let roots = pi::roots(config);
    roots.map(|(root, _)| root.join("settings.json")).to_vec()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for (root, level) in pi::roots(context.config) {
        let settings = root.join("settings.json");
        let Some(value) = text::json(&settings, collector).value() else {
            continue;
        };
        for key in ["packages", "extensions"] {
            let list = value.get(key).and_then(Value::as_array);
            let sources = list.into_iter().flatten().filter_map(source).collect();
            for source in collector.bounded(sources, key, &settings) {
                take(&root, &settings, source, context.config, level, collector);
            }
        }
    }
}

/// Returns the source of an entry, which is a text, or an object that may select no extensions.
fn source(entry: &Value) -> Option<&str> {
    let takes_none = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
    if entry.get("extensions").is_some_and(takes_none) {
        return None;
    }
    entry.as_str().or_else(|| entry.get("source")?.as_str())
}

fn take(
    root: &Path,
    settings: &Path,
    source: &str,
    config: &Config,
    level: Level,
    collector: &mut Collector<'_>,
) {
    let path = installed(root, source, config);
    if path.is_file() {
        return collector.listed(path.clone(), paths::key(&path), level);
    }
    if !path.is_dir() {
        let message = format!("the pi package `{source}` is not installed");
        let hint = format!("`pi install {source}` installs it, or remove it from this file");
        collector.problem(Problem::warning(message).at(settings).hint(hint));
        return collector.note(path, Verdict::Missing);
    }
    if !pi::take_package(&path, level, collector) {
        collector.ignored(path, "a package of pi without extensions");
    }
}

/// Returns the place of a package that pi has installed.
fn installed(root: &Path, source: &str, config: &Config) -> PathBuf {
    if let Some(package) = source.strip_prefix("npm:") {
        // The version follows an `@` that is not the one of the scope.
        let end = package.get(1..).and_then(|rest| rest.find('@'));
        let name = end.map_or(package, |end| &package[..end + 1]);
        return root.join("npm/node_modules").join(name);
    }
    if let Some(path) = repository(source) {
        return paths::join(&root.join("git"), &path);
    }
    match source.strip_prefix("~/") {
        Some(rest) => paths::join(&config.home, rest),
        None => paths::resolve(root, Path::new(source)),
    }
}

/// Returns `HOST/PATH` for an address of a git repository.
fn repository(source: &str) -> Option<String> {
    let short = source.strip_prefix("git:");
    let address = short.unwrap_or(source);
    let schemes = ["https://", "http://", "ssh://", "git://"];
    let bare = schemes.iter().find_map(|it| address.strip_prefix(it));
    let address = match (bare, short) {
        (Some(bare), _) => bare,
        (None, Some(short)) => short,
        (None, None) => return None,
    };
    let address = address.strip_prefix("git@").unwrap_or(address);
    // The reference follows an `@` in the path; `git@host:path` has a colon for the slash.
    let address = address.split('@').next().unwrap_or(address);
    let address = address.strip_suffix(".git").unwrap_or(address);
    Some(address.replacen(':', "/", 1))
}
