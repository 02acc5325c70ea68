//! Paths that are given by name: `--tool`, `tools:` of a configuration, a host.
//!
//! Any file and any folder may be named; the family reports what is wrong with it. This module only
//! refuses paths that are not file paths, and files that would block when opened.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::collector::Collector;
use super::context::ScanContext;
use super::folder::not_regular;
use super::{Provider, Verdict};
use haft_config::{Config, paths};
use haft_tool::{Family, Level, Problem};

pub(super) const ID: &str = "config";

pub(super) const PROVIDER: Provider = Provider {
    id: ID,
    name: "Config",
    family: Family::Js,
    places,
    find,
};

/// Form of the path that a candidate shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The expanded, absolute path without `.` and `..`, as discovery shows it.
    Expanded,
    /// The path as it was given, as the loader shows it.
    AsGiven,
}

fn places(_config: &Config) -> Vec<PathBuf> {
    Vec::new()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    take(config, &config.configured_paths, Keep::Expanded, collector);
}

pub(super) fn take(config: &Config, given: &[String], keep: Keep, collector: &mut Collector<'_>) {
    for path in given {
        take_one(config, path, keep, collector);
    }
}

fn take_one(config: &Config, given: &str, keep: Keep, collector: &mut Collector<'_>) {
    if given.is_empty() {
        let hint = "name a file or a folder";
        return collector.problem(Problem::error("an empty path names no tool").hint(hint));
    }
    let expanded = match paths::expand(given, &config.home) {
        Ok(path) => config.cwd.join(path),
        Err(internal) => {
            let hint = "name the file itself; such URLs exist inside oh-my-pi only";
            let problem = Problem::error(internal.to_string()).at(given).hint(hint);
            return collector.problem(problem);
        }
    };
    let (file, query) = split_query(&expanded);
    let resolved = paths::resolve(&config.cwd, &file);
    let shown = match keep {
        Keep::AsGiven => PathBuf::from(given),
        Keep::Expanded => paths::resolve(&config.cwd, &expanded),
    };
    match std::fs::metadata(&resolved) {
        // The loader reports a missing file later.
        Err(error) if paths::is_missing(&error) => collector.note(&shown, Verdict::Missing),
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let reason = not_regular(found.file_type());
            let hint = "name a module file, or the folder of a package";
            collector.problem(Problem::error(reason.clone()).at(&shown).hint(hint));
            return collector.ignored(shown, reason);
        }
        _ => {}
    }
    let key = paths::key(&resolved);
    if keep == Keep::Expanded && config.project_paths.iter().any(|path| path == given) {
        collector.named_by_project(shown, (resolved, query), key);
    } else {
        collector.named(shown, (resolved, query), key, Level::Project);
    }
}

/// Splits `?query` off the path, unless a file of the whole name exists.
fn split_query(path: &Path) -> (PathBuf, Option<String>) {
    let Some((file, query)) = path.to_str().and_then(|text| text.split_once('?')) else {
        return (path.to_owned(), None);
    };
    if path.exists() {
        return (path.to_owned(), None);
    }
    (PathBuf::from(OsString::from(file)), Some(query.to_owned()))
}
