//! Installed marketplace plugins: Claude's registry, oh-my-pi's, the project's.
//!
//! Later registries replace earlier ones plugin by plugin. Claude's own on/off switches
//! (`enabledPlugins`) and the project that an installation is bound to count for Claude's registry
//! only. A project that is not trusted switches nothing, and its plugins come after the user's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Verdict;
use super::collector::Collector;
use super::text;
use haft_config::{Config, paths};
use haft_tool::{Level, Problem};

/// The folder of one installed marketplace plugin.
pub(super) struct MarketplaceRoot {
    id: String,
    pub path: PathBuf,
    pub level: Level,
}

/// Returns the folders of all marketplace plugins that are switched on, the project's first if it
/// is trusted.
pub(super) fn roots(
    config: &Config,
    anchor: Option<&Path>,
    project_decides: bool,
    collector: &mut Collector<'_>,
) -> Vec<MarketplaceRoot> {
    let claude = config.roots.claude.join("plugins/installed_plugins.json");
    let mut roots = Vec::new();
    if let Some(plugins) = registry(&claude, collector) {
        let switches = Switches::read(config, anchor, project_decides, collector);
        for (id, entry, path) in installations(plugins, &claude, config, collector) {
            if switches.allow(&id, &entry, &path, collector) {
                roots.push(MarketplaceRoot {
                    level: scope(&entry),
                    id,
                    path,
                });
            }
        }
    }
    let omp = config.roots.omp_plugins.join("installed_plugins.json");
    if let Some(plugins) = registry(&omp, collector) {
        roots.retain(|root| !has_entries(&plugins, &root.id));
        for (id, entry, path) in installations(plugins, &omp, config, collector) {
            let is_double = roots.iter().any(|root| root.id == id && root.path == path);
            if !is_double {
                roots.push(MarketplaceRoot {
                    level: scope(&entry),
                    id,
                    path,
                });
            }
        }
    }
    let project = anchor.map(|anchor| {
        anchor
            .join(&config.roots.omp_name)
            .join("plugins/installed_plugins.json")
    });
    if let Some(file) = project.filter(|file| *file != omp)
        && let Some(plugins) = registry(&file, collector)
    {
        let installed = installations(plugins, &file, config, collector);
        let mut brought: Vec<MarketplaceRoot> = installed
            .into_iter()
            .map(|(id, _, path)| MarketplaceRoot {
                id,
                path,
                level: Level::Project,
            })
            .collect();
        if project_decides {
            let before = roots.len();
            roots.retain(|root| !brought.iter().any(|project| project.id == root.id));
            if roots.len() < before {
                collector.replaces();
            }
            brought.append(&mut roots);
            roots = brought;
        } else {
            roots.append(&mut brought);
        }
    }
    roots
}

/// Returns the `plugins` of a registry file; `None` if the file is missing or unusable.
fn registry(path: &Path, collector: &mut Collector<'_>) -> Option<Map<String, Value>> {
    let mut value = text::json(path, collector).value()?;
    let has_version = value.get("version").is_some_and(Value::is_number);
    match value.get_mut("plugins").map(Value::take) {
        Some(Value::Object(plugins)) if has_version => Some(plugins),
        _ => {
            let message =
                "not a plugin registry: it needs a number `version` and an object `plugins`";
            let hint = "install the plugins again with the program that wrote this file";
            collector.problem(Problem::warning(message).at(path).hint(hint));
            None
        }
    }
}

fn has_entries(plugins: &Map<String, Value>, id: &str) -> bool {
    let entries = plugins.get(id).and_then(Value::as_array);
    entries.is_some_and(|entries| !entries.is_empty())
}

/// Returns every usable installation of a registry: the plugin's id, its entry, its folder.
fn installations(
    plugins: Map<String, Value>,
    file: &Path,
    config: &Config,
    collector: &mut Collector<'_>,
) -> Vec<(String, Value, PathBuf)> {
    let mut found = Vec::new();
    for (id, entries) in plugins {
        let Value::Array(entries) = entries else {
            continue;
        };
        if !entries.is_empty() && !id.contains('@') {
            let message = format!("Invalid plugin ID format (missing @marketplace): {id}");
            collector.problem(
                Problem::warning(message)
                    .at(file)
                    .hint("ids are written `name@marketplace`"),
            );
            continue;
        }
        for entry in entries {
            let path = entry
                .get("installPath")
                .and_then(Value::as_str)
                .filter(|path| !path.is_empty());
            let Some(path) = path else {
                let message = format!("Plugin {id} entry has no installPath");
                collector.problem(
                    Problem::warning(message)
                        .at(file)
                        .hint("install the plugin again"),
                );
                continue;
            };
            let path = paths::resolve(&config.cwd, Path::new(path));
            if entry.get("enabled") == Some(&Value::Bool(false)) {
                let by = file.display().to_string();
                collector.note(path, Verdict::Disabled { by });
                continue;
            }
            found.push((id.clone(), entry, path));
        }
    }
    found
}

fn scope(entry: &Value) -> Level {
    match entry.get("scope").and_then(Value::as_str) {
        Some("project" | "local") => Level::Project,
        _ => Level::User,
    }
}

/// Returns the files in which a project switches Claude's plugins on and off.
pub(super) fn claude_settings(config: &Config, anchor: Option<&Path>) -> Vec<PathBuf> {
    let project = std::fs::canonicalize(anchor.unwrap_or(&config.cwd)).ok();
    let here = std::fs::canonicalize(&config.cwd).ok();
    let further = here.filter(|here| Some(here) != project.as_ref());
    let folders = project.iter().chain(&further);
    let folders = folders.map(|directory| directory.join(".claude"));
    let files = folders
        .flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name)));
    // In the home directory one of these files is the user's own.
    let own = std::fs::canonicalize(&config.roots.claude).ok();
    let own = own.map(|own| own.join("settings.json"));
    files.filter(|file| Some(file) != own.as_ref()).collect()
}

/// Claude's switches, and the project that bound installations must belong to.
struct Switches {
    enabled: HashMap<String, (bool, PathBuf)>,
    project: Option<PathBuf>,
}

impl Switches {
    fn read(
        config: &Config,
        anchor: Option<&Path>,
        project_decides: bool,
        collector: &mut Collector<'_>,
    ) -> Switches {
        let project = std::fs::canonicalize(anchor.unwrap_or(&config.cwd)).ok();
        let mut files = vec![config.roots.claude.join("settings.json")];
        let of_project = claude_settings(config, anchor);
        if project_decides {
            files.extend(of_project)
        } else {
            of_project
                .into_iter()
                .for_each(|file| collector.reads(file))
        }
        let mut enabled = HashMap::new();
        for file in files {
            let settings = text::json(&file, collector).value().unwrap_or_default();
            let Some(map) = settings.get("enabledPlugins").and_then(Value::as_object) else {
                continue;
            };
            for (id, value) in map {
                if let Some(on) = value.as_bool() {
                    enabled.insert(id.clone(), (on, file.clone()));
                }
            }
        }
        Switches { enabled, project }
    }

    fn allow(&self, id: &str, entry: &Value, path: &Path, collector: &mut Collector<'_>) -> bool {
        match self.enabled.get(id) {
            Some((true, _)) => return true,
            Some((false, by)) => {
                let by = format!("`enabledPlugins` in {}", by.display());
                collector.note(path, Verdict::Disabled { by });
                return false;
            }
            None => {}
        }
        if scope(entry) == Level::User {
            return true;
        }
        let bound_to = entry.get("projectPath").and_then(Value::as_str);
        let bound_to = bound_to.and_then(|path| std::fs::canonicalize(path).ok());
        let is_here = bound_to.is_some() && bound_to == self.project;
        if !is_here {
            let reason = "installed for another project: switch it on in `enabledPlugins` of \
                          .claude/settings.json to have it here";
            collector.ignored(path, reason);
        }
        is_here
    }
}
