//! Decisions of a project's settings files about tools that are not its own: which plugins,
//! features, providers and extensions are on.
//!
//! The user trusts these decisions together with the project's tools; until then none of them is
//! applied. Only the keys that haft obeys are included, because the same files hold much else and
//! change often.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{marketplace, plugins};
use haft_config::{Config, paths};

/// Decisions of one settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct Decisions {
    /// The file.
    pub path: PathBuf,
    /// The keys that haft obeys, with their values.
    pub says: Map<String, Value>,
}

impl Decisions {
    /// Returns all decisions as one text, which is the same for the same decisions.
    pub fn text(&self) -> String {
        Value::Object(self.says.clone()).to_string()
    }
}

/// Reads the decisions of the project's settings files. Files without a decision are left out.
pub fn decisions(config: &Config) -> Vec<Decisions> {
    let anchor = plugins::project_anchor(config);
    let here = config.cwd.join(".omp");
    let mut found = Vec::new();
    let mut look = |path: PathBuf, keys: &[&str]| {
        let known = |one: &Decisions| one.path == path;
        if !found.iter().any(known)
            && let Some(says) = read(&path, keys)
        {
            found.push(Decisions { path, says });
        }
    };
    let lists = ["extensions", "disabledExtensions", "disabledProviders"];
    look(here.join("config.yml"), &lists);
    look(here.join("settings.json"), &lists);
    look(
        here.join("plugin-overrides.json"),
        &["disabled", "features"],
    );
    for file in marketplace::claude_settings(config, anchor.as_deref()) {
        look(file, &["enabledPlugins"]);
    }
    let plugins = anchor.map(|anchor| anchor.join(&config.roots.omp_name).join("plugins"));
    if let Some(plugins) = plugins.filter(|plugins| *plugins != config.roots.omp_plugins) {
        look(plugins.join("package.json"), &["dependencies"]);
        look(plugins.join("omp-plugins.lock.json"), &["plugins"]);
        look(plugins.join("installed_plugins.json"), &["plugins"]);
    }
    found
}

/// Returns those of `keys` that the file has. An unreadable file has no decisions.
fn read(path: &Path, keys: &[&str]) -> Option<Map<String, Value>> {
    let text = paths::read_text(path).ok().flatten()?;
    let is_json = path
        .extension()
        .is_some_and(|extension| extension == "json");
    let value: Value = if is_json {
        serde_json::from_str(&text).ok()?
    } else {
        serde_saphyr::from_str::<Option<Value>>(&text).ok()??
    };
    let mut says = Map::new();
    for key in keys {
        let value = value.get(*key).filter(|value| !is_nothing(value));
        if let Some(value) = value {
            says.insert((*key).to_owned(), value.clone());
        }
    }
    (!says.is_empty()).then_some(says)
}

/// Returns true if the value decides nothing. An empty list is a decision: it replaces the user's
/// list.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(_) => false,
        _ => true,
    }
}
