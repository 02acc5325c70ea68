//! Tools that the manifests of installed plugins name, base entries before features.
//!
//! A plugin of the project has the project's level here, so that trust applies to it; oh-my-pi
//! gives every plugin the user's level. Entries without a file are reported, not dropped.

use std::path::PathBuf;

use serde_json::Value;

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::{manifest_index, not_regular};
use super::plugins::{self, Plugin, texts};
use super::{Provider, Verdict};
use haft_config::paths;
use haft_tool::{Family, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "plugin",
    name: "Plugin",
    family: Family::Js,
    places: plugins::places,
    find,
};

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for plugin in &context.plugins {
        let named = entries(plugin, collector);
        for entry in collector.bounded(named, "tools", &manifest(plugin)) {
            take(plugin, &entry, collector);
        }
    }
}

/// Returns the path of the plugin's manifest.
fn manifest(plugin: &Plugin) -> PathBuf {
    plugin.root.join("package.json")
}

fn take(plugin: &Plugin, entry: &str, collector: &mut Collector<'_>) {
    // `..` may lead out of the plugin: monorepos do that.
    let path = paths::join(&plugin.root, entry);
    let complain = |collector: &mut Collector<'_>, what: &str, verdict: Verdict| {
        let name = &plugin.name;
        let message = format!("plugin `{name}` names the tool `{entry}`, but {what}");
        let hint = "correct `tools` in this file, or install the plugin again";
        collector.problem(Problem::warning(message).at(manifest(plugin)).hint(hint));
        collector.note(&path, verdict);
    };
    let kind = match std::fs::metadata(&path) {
        Ok(found) => found.file_type(),
        Err(error) => {
            let what = if paths::is_missing(&error) {
                "there is no such file".to_owned()
            } else {
                paths::plain(&error)
            };
            return complain(collector, &what, Verdict::Missing);
        }
    };
    if kind.is_file() {
        let key = paths::key(&path);
        return collector.listed(path, key, plugin.level);
    }
    if !kind.is_dir() {
        let reason = not_regular(kind);
        return complain(collector, &reason.clone(), Verdict::Ignored { reason });
    }
    match manifest_index(&path) {
        Some(index) => {
            let key = paths::key(&path);
            collector.listed(index, key, plugin.level);
        }
        None => {
            let reason = "the folder has no index.ts, index.js, index.mjs or index.cjs".to_owned();
            complain(collector, &reason.clone(), Verdict::Ignored { reason });
        }
    }
}

fn entries(plugin: &Plugin, collector: &mut Collector<'_>) -> Vec<String> {
    let mut entries = tools(plugin, plugin.manifest.get("tools"), "tools", collector);
    let features = plugin.manifest.get("features").and_then(Value::as_object);
    let Some(features) = features else {
        return entries;
    };
    for (name, feature) in features {
        let is_on = match &plugin.features {
            Some(chosen) => chosen.contains(name),
            None => feature.get("default").and_then(Value::as_bool) == Some(true),
        };
        if is_on {
            let place = format!("features.{name}.tools");
            entries.extend(tools(plugin, feature.get("tools"), &place, collector));
        }
    }
    for chosen in plugin.features.iter().flatten() {
        if !features.contains_key(chosen) {
            let known: Vec<&str> = features.keys().map(String::as_str).collect();
            let message = format!("plugin `{}` has no feature `{chosen}`", plugin.name);
            let hint = format!("it has: {}", known.join(", "));
            collector.problem(Problem::warning(message).at(&plugin.root).hint(hint));
        }
    }
    entries
}

/// Reads `tools` in either form: one path or a list of paths.
fn tools(
    plugin: &Plugin,
    value: Option<&Value>,
    place: &str,
    collector: &mut Collector<'_>,
) -> Vec<String> {
    let entries = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::String(one)) if one.is_empty() => return Vec::new(),
        Some(Value::String(one)) => return vec![one.clone()],
        Some(list) => texts(Some(list)),
    };
    let is_sound = value
        .and_then(Value::as_array)
        .is_some_and(|list| list.len() == entries.len());
    if !is_sound {
        let name = &plugin.name;
        let message = format!("`{place}` of plugin `{name}` is neither a path nor a list of paths");
        let hint = "write it like `\"tools\": [\"tools/x.ts\"]`; what is not text is left out";
        collector.problem(Problem::warning(message).at(manifest(plugin)).hint(hint));
    }
    entries
}
