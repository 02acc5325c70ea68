//! The packages that `omp plugin` installed or linked, for the user and for the project.
//!
//! Three files decide which packages count (`package.json`, the lock file, the project's
//! overrides), together with the content of `node_modules`. A broken file does not affect the
//! others.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Verdict;
use super::collector::Collector;
use super::text::{self, Parsed};
use haft_config::{Config, paths};
use haft_tool::{Level, Problem};

/// An installed plugin that is switched on.
pub(super) struct Plugin {
    pub name: String,
    /// Its folder in `node_modules`.
    pub root: PathBuf,
    pub level: Level,
    /// The `omp` (or `pi`) object of its `package.json`.
    pub manifest: Map<String, Value>,
    /// The chosen features; `None` means those that are on by default.
    pub features: Option<Vec<String>>,
}

/// Returns the folder of the user's plugins, for providers that search them.
pub(super) fn places(config: &Config) -> Vec<PathBuf> {
    vec![config.roots.omp_plugins.clone()]
}

/// Returns the nearest folder above that is a project: it has `.omp`, else `.git`. The home
/// directory is never a project.
pub(super) fn project_anchor(config: &Config) -> Option<PathBuf> {
    let below_home = || {
        config
            .cwd
            .ancestors()
            .take_while(|directory| *directory != config.home)
    };
    let name = &config.roots.omp_name;
    let by_omp = below_home().find(|directory| directory.join(name).is_dir());
    let anchor = by_omp.or_else(|| below_home().find(|directory| directory.join(".git").exists()));
    anchor.map(Path::to_owned)
}

/// Returns all plugins that are switched on. A project's plugin replaces the user's once the
/// project is trusted. Until then its overrides apply to its own plugins only.
pub(super) fn enabled(
    config: &Config,
    anchor: Option<&Path>,
    project_decides: bool,
    collector: &mut Collector<'_>,
) -> Vec<Plugin> {
    let user_root = &config.roots.omp_plugins;
    let project_root = anchor.map(|anchor| anchor.join(&config.roots.omp_name).join("plugins"));
    let roots = [
        Some((user_root.clone(), Level::User)),
        project_root.map(|root| (root, Level::Project)),
    ];
    let mut overrides = None;
    let mut plugins: Vec<Plugin> = Vec::new();
    for (root, level) in roots.into_iter().flatten() {
        let is_same = level == Level::Project && root == *user_root;
        collector.reads(root.join("node_modules"));
        if is_same || !root.join("node_modules").is_dir() {
            continue;
        }
        let overrides = overrides.get_or_insert_with(|| Overrides::read(config, collector));
        let counts = project_decides || level == Level::Project;
        let nothing = Overrides::nothing();
        let overrides = if counts { &*overrides } else { &nothing };
        for plugin in at_root(&root, level, overrides, collector) {
            let same_name = |earlier: &&mut Plugin| earlier.name == plugin.name;
            match plugins.iter_mut().find(same_name) {
                Some(earlier) if project_decides => {
                    let by = plugin.root.clone();
                    let user = std::mem::replace(earlier, plugin);
                    collector.note(user.root, Verdict::Shadowed { by });
                    collector.replaces();
                }
                Some(_) | None => plugins.push(plugin),
            }
        }
    }
    plugins
}

/// Content of `.omp/plugin-overrides.json`: plugins that the project switches off, and its
/// features.
struct Overrides {
    path: PathBuf,
    disabled: Vec<String>,
    features: Map<String, Value>,
}

impl Overrides {
    fn nothing() -> Overrides {
        Overrides {
            path: PathBuf::new(),
            disabled: Vec::new(),
            features: Map::new(),
        }
    }

    fn read(config: &Config, collector: &mut Collector<'_>) -> Overrides {
        let path = config.cwd.join(".omp/plugin-overrides.json");
        let value = text::json(&path, collector).value().unwrap_or_default();
        Overrides {
            path,
            disabled: texts(value.get("disabled")),
            features: value
                .get("features")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        }
    }
}

fn at_root(
    root: &Path,
    level: Level,
    overrides: &Overrides,
    collector: &mut Collector<'_>,
) -> Vec<Plugin> {
    let modules = root.join("node_modules");
    let package_path = root.join("package.json");
    let package = text::json(&package_path, collector);
    let has_package = !matches!(package, Parsed::Missing);
    let package = package.value().unwrap_or_default();
    let dependencies = object(&package, "dependencies", &package_path, collector);
    let lock_path = root.join("omp-plugins.lock.json");
    let lock = text::json(&lock_path, collector)
        .value()
        .unwrap_or_default();
    let locked = object(&lock, "plugins", &lock_path, collector);

    let mut names: Vec<&String> = dependencies.keys().collect();
    names.extend(
        locked
            .keys()
            .filter(|name| !dependencies.contains_key(*name)),
    );
    let names = collector.bounded(names, "dependencies", &package_path);
    let mut plugins = Vec::new();
    for name in names {
        let folder = paths::join(&modules, name);
        if has_package && !dependencies.contains_key(name) && !folder.is_symlink() {
            let message = format!(
                "plugin `{name}` is not loaded: package.json does not name it, and it is not a link"
            );
            let hint = format!(
                "install it again with `omp plugin install {name}`, or remove it from this file"
            );
            collector.problem(Problem::warning(message).at(&lock_path).hint(hint));
            collector.ignored(
                folder,
                "a left-over of the lock file: neither a dependency nor a link",
            );
            continue;
        }
        let Some(manifest) = manifest(&folder, collector) else {
            continue;
        };
        let state = locked.get(name);
        if state.is_some_and(|state| state.get("enabled").and_then(Value::as_bool) != Some(true)) {
            let by = lock_path.display().to_string();
            collector.note(folder, Verdict::Disabled { by });
            continue;
        }
        if overrides.disabled.contains(name) {
            let by = overrides.path.display().to_string();
            collector.note(folder, Verdict::Disabled { by });
            continue;
        }
        let chosen = overrides
            .features
            .get(name)
            .or_else(|| state?.get("enabledFeatures"));
        let features = chosen
            .filter(|list| list.is_array())
            .map(|list| texts(Some(list)));
        plugins.push(Plugin {
            name: name.clone(),
            root: folder,
            level,
            manifest,
            features,
        });
    }
    plugins
}

/// Returns the `omp` or `pi` object of a package. Packages without one are not plugins and are not
/// reported, because most of `node_modules` is like that.
fn manifest(folder: &Path, collector: &mut Collector<'_>) -> Option<Map<String, Value>> {
    let path = folder.join("package.json");
    let package = text::json(&path, collector).value()?;
    let keys = ["omp", "pi"].into_iter();
    let found = keys
        .filter_map(|key| Some((key, package.get(key).filter(|value| is_truthy(value))?)))
        .next();
    match found {
        Some((_, Value::Object(manifest))) => Some(manifest.clone()),
        Some((key, _)) => {
            let message = format!("`{key}` is not an object, so the plugin offers nothing");
            let hint = format!("write it like `\"{key}\": {{\"tools\": [\"tools/x.ts\"]}}`");
            collector.problem(Problem::warning(message).at(path).hint(hint));
            None
        }
        None => {
            collector.ignored(
                folder,
                "no plugin: its package.json has neither `omp` nor `pi`",
            );
            None
        }
    }
}

/// Returns true for values that JavaScript treats as true: `"omp": null` beside a `pi` object
/// exists.
fn is_truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && *value != "" && *value != 0
}

fn object(
    value: &Value,
    key: &str,
    path: &Path,
    collector: &mut Collector<'_>,
) -> Map<String, Value> {
    match value.get(key) {
        Some(Value::Object(map)) => map.clone(),
        None | Some(Value::Null) => Map::new(),
        Some(_) => {
            let message = format!("`{key}` is not an object");
            collector.problem(
                Problem::warning(message)
                    .at(path)
                    .hint("it counts as empty; correct the file"),
            );
            Map::new()
        }
    }
}

/// Returns the texts of a list; any other value is an empty list.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    list.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
