//! CYCOD's folders of YAML shell tools: the project's, the user's, all users' (spec cycod 1–2).
//!
//! A file's own `name:` may differ from the file's name. So files compete only by path here; the
//! family opens them and resolves conflicts of names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::not_regular;
use super::{Provider, Verdict};
use haft_config::Config;
use haft_tool::{Family, Level, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "cycod",
    name: "CYCOD",
    family: Family::Shell,
    places,
    find,
};

/// Returns the local, the user's and the global folder, in the order in which they claim names.
fn places(config: &Config) -> Vec<PathBuf> {
    vec![
        config.cwd.join(".cycod/tools"),
        config.roots.cycod_user.clone(),
        config.roots.cycod_global.clone(),
    ]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let levels = [Level::Project, Level::User, Level::User];
    let folders = places(context.config);
    let mut all: Vec<(&PathBuf, Level)> = Vec::new();
    for (index, (folder, level)) in folders.iter().zip(levels).enumerate() {
        // In the home directory the project's folder is the user's own.
        if level == Level::Project && folders[index + 1..].contains(folder) {
            continue;
        }
        all.push((folder, level));
    }
    // A request for a tool of one scope prefers that scope over the usual order.
    let first = context.config.cycod_first.as_ref();
    all.sort_by_key(|(folder, _)| Some(*folder) != first);
    for (folder, level) in all {
        take(folder, level, collector);
    }
}

fn take(folder: &Path, level: Level, collector: &mut Collector<'_>) {
    let Some(entries) = collector.entries(folder) else {
        return;
    };
    // Sorted by name, so that the order is stable.
    let names: BTreeSet<_> = entries.iter().map(fs::DirEntry::file_name).collect();
    for name in names {
        let path = folder.join(&name);
        let Some((stem, extension)) = name.to_str().map(split) else {
            collector.ignored(path, "the file name is not valid UTF-8: rename it");
            continue;
        };
        if extension != "yaml" {
            if let Some(reason) = reason(stem, extension) {
                collector.ignored(path, reason);
            }
            continue;
        }
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => collector.listed(path, stem.to_owned(), level),
            Ok(found) => collector.ignored(path, not_regular(found.file_type())),
            Err(_) => {
                let reason = "the link leads nowhere";
                let hint = "point it to a file, or remove it";
                collector.problem(Problem::warning(reason).at(&path).hint(hint));
                collector.note(path, Verdict::Missing);
            }
        }
    }
}

fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// Returns the reason why a file is not a YAML shell tool; `None` for hidden files.
fn reason(stem: &str, extension: &str) -> Option<&'static str> {
    match extension {
        _ if stem.is_empty() || stem.starts_with('.') => None,
        "yml" => Some("YAML shell tools end in .yaml: rename it to load it"),
        "json" => Some("YAML shell tools end in .yaml; `haft tool import` takes JSON"),
        _ if extension.eq_ignore_ascii_case("yaml") => {
            Some("extensions are case-sensitive: write it in lower case")
        }
        _ => Some("no YAML shell tool: they end in .yaml"),
    }
}
