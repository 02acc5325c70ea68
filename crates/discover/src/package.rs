//! Packages in the Agent Plugins format: checks whether one may be used at all.
//!
//! The format is strict on purpose: a package that claims it by its `$schema` and breaks it must
//! not be loaded. Packages that do not claim it follow older conventions and are not checked.

use std::path::Path;

use serde_json::Value;

use super::collector::Collector;
use haft_config::paths;
use haft_tool::Problem;

const SCHEMAS: &str = "https://agent-plugins.org/schemas/";
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// Returns false for a package that claims the Agent Plugins format but breaks its rules. Programs
/// that follow the format must not load anything of it.
pub(super) fn is_sound(root: &Path, collector: &mut Collector<'_>) -> bool {
    let path = root.join("plugin.json");
    collector.reads(&path);
    let Ok(Some(text)) = paths::read_text(&path) else {
        return true;
    };
    // A file that is not JSON cannot claim the format, and haft reads it for nothing else.
    let Ok(manifest) = serde_json::from_str::<Value>(&text) else {
        return true;
    };
    let Some(fault) = package_fault(&manifest) else {
        return true;
    };
    let message = format!("not a valid Agent Plugins manifest: {fault}");
    let hint = "correct the manifest; nothing of the package is loaded until then";
    collector.problem(Problem::warning(message).at(path).hint(hint));
    collector.ignored(
        root,
        "its plugin.json is not a valid Agent Plugins manifest",
    );
    false
}

fn package_fault(manifest: &Value) -> Option<String> {
    let schema = manifest.get("$schema")?.as_str()?;
    if !schema.starts_with(SCHEMAS) {
        return None;
    }
    if schema != SCHEMA {
        return Some(format!("unsupported version ($schema: {schema})"));
    }
    let name = manifest
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !is_package_name(name) {
        return Some(format!("invalid name `{name}`"));
    }
    let texts = [
        "version",
        "description",
        "homepage",
        "repository",
        "license",
    ];
    let is_wrong = |key: &&&str| manifest.get(**key).is_some_and(|value| !value.is_string());
    if let Some(key) = texts.iter().find(is_wrong) {
        return Some(format!("`{key}` is not a text"));
    }
    let keywords = manifest.get("keywords");
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(Value::is_string))
    };
    if keywords.is_some_and(|keywords| !is_list(keywords)) {
        return Some("`keywords` is not a list of texts".to_owned());
    }
    let author = manifest.get("author")?;
    let fields = author.as_object().filter(|fields| {
        fields.iter().all(|(key, value)| {
            matches!(key.as_str(), "name" | "email" | "url") && value.is_string()
        })
    });
    fields
        .is_none()
        .then(|| "`author` is not an object of the texts `name`, `email` and `url`".to_owned())
}

fn is_package_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 64
        && name.starts_with(plain)
        && name.ends_with(plain)
        && name.chars().all(|c| plain(c) || c == '.' || c == '-')
        && !name.contains("--")
        && !name.contains("..")
}
