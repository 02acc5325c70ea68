//! oh-my-pi's own settings about tools: `extensions`, `disabledExtensions`, `disabledProviders`.
//!
//! Lists are never merged: the first file that has the key as a list wins, the project's before the
//! user's. A project that is not trusted switches nothing off, and its `extensions` come after the
//! user's. All other keys of these files are ignored.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Collector;
use super::text;
use haft_config::{Config, paths};
use haft_tool::Level;

#[derive(Default)]
pub(super) struct OmpSettings {
    /// Extension packages with the level that their tools have.
    pub extensions: Vec<(PathBuf, Level)>,
    /// Extension ids with the file that names them.
    pub disabled_extensions: Vec<(String, PathBuf)>,
    /// Provider ids with the file that names them.
    pub disabled_providers: Vec<(String, PathBuf)>,
}

struct SettingsFile {
    path: PathBuf,
    level: Level,
    value: Value,
}

impl OmpSettings {
    pub(super) fn read(
        config: &Config,
        project_decides: bool,
        collector: &mut Collector<'_>,
    ) -> OmpSettings {
        let project = config.cwd.join(".omp");
        let user = &config.roots.omp_agent;
        let mut files = Vec::new();
        let mut add = |path: PathBuf, level: Level| -> bool {
            let is_json = path
                .extension()
                .is_some_and(|extension| extension == "json");
            let parsed = if is_json {
                text::json(&path, collector)
            } else {
                text::yaml(&path, collector)
            };
            let is_there = !matches!(parsed, text::Parsed::Missing);
            files.extend(
                parsed
                    .value()
                    .map(|value| SettingsFile { path, level, value }),
            );
            is_there
        };
        add(project.join("config.yml"), Level::Project);
        add(project.join("settings.json"), Level::Project);
        if !add(user.join("config.yml"), Level::User) {
            add(user.join("config.yaml"), Level::User);
        }
        add(user.join("settings.json"), Level::User);

        let split = files.iter().take_while(|file| file.level == Level::Project);
        let (of_project, of_user) = files.split_at(split.count());
        if project_decides {
            return OmpSettings {
                extensions: extensions(&files, config, collector),
                disabled_extensions: named(&files, "disabledExtensions", collector),
                disabled_providers: named(&files, "disabledProviders", collector),
            };
        }
        let mut all_extensions = extensions(of_user, config, collector);
        all_extensions.extend(extensions(of_project, config, collector));
        OmpSettings {
            extensions: all_extensions,
            disabled_extensions: named(of_user, "disabledExtensions", collector),
            disabled_providers: named(of_user, "disabledProviders", collector),
        }
    }
}

fn first_list<'a>(
    files: &'a [SettingsFile],
    key: &str,
    collector: &mut Collector<'_>,
) -> Option<(&'a SettingsFile, Vec<&'a str>)> {
    files.iter().find_map(|file| {
        let list = file.value.get(key)?.as_array()?;
        let texts = list
            .iter()
            .filter_map(Value::as_str)
            .filter(|text| !text.is_empty());
        Some((file, collector.bounded(texts.collect(), key, &file.path)))
    })
}

fn named(
    files: &[SettingsFile],
    key: &str,
    collector: &mut Collector<'_>,
) -> Vec<(String, PathBuf)> {
    let Some((file, names)) = first_list(files, key, collector) else {
        return Vec::new();
    };
    names
        .into_iter()
        .map(|name| (name.to_owned(), file.path.clone()))
        .collect()
}

fn extensions(
    files: &[SettingsFile],
    config: &Config,
    collector: &mut Collector<'_>,
) -> Vec<(PathBuf, Level)> {
    let Some((file, entries)) = first_list(files, "extensions", collector) else {
        return Vec::new();
    };
    let resolved = entries.into_iter().map(|entry| {
        let path = match entry.strip_prefix('~') {
            Some("") => config.home.clone(),
            Some(rest) => paths::join(&config.home, rest),
            None => PathBuf::from(entry),
        };
        // A relative path means the working directory even in the user's file. So the project
        // brings the code, which the user has not seen.
        let level = if path.is_absolute() {
            file.level
        } else {
            Level::Project
        };
        (paths::resolve(&config.cwd, Path::new(&path)), level)
    });
    resolved.collect()
}
