//! Plugins that opencode's configuration names: `plugin` in `opencode.json` of the user and of the project
//! (dialects 1.2).
//!
//! opencode has installed packages of npm in its cache, or the project has them in `node_modules`. haft
//! installs nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Collector;
use super::context::ScanContext;
use super::opencode::roots;
use super::{Provider, Verdict, text};
use haft_config::{Config, paths};
use haft_tool::{Family, Level, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "opencode-plugins",
    name: "opencode plugins",
    family: Family::Js,
    places,
    find,
};

const NAMES: [&str; 2] = ["opencode.json", "opencode.jsonc"];

/// Returns the configuration files. Those of a folder lie in it or in its `.opencode`.
fn files(config: &Config) -> Vec<(PathBuf, Level)> {
    let folders = roots(config).into_iter().flat_map(|(root, level)| {
        let beside = root.parent().map(Path::to_owned);
        let beside = beside.filter(|_| level == Level::Project);
        beside.into_iter().chain([root]).map(move |at| (at, level))
    });
    let files = folders.flat_map(|(at, level)| NAMES.map(|name| (at.join(name), level)));
    files.collect()
}

fn places(config: &Config) -> Vec<PathBuf> {
    files(config).into_iter().map(|(path, _)| path).collect()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for (file, level) in files(context.config) {
        let Some(value) = text::jsonc(&file, collector).value() else {
            continue;
        };
        let list = value.get("plugin").and_then(Value::as_array);
        let sources = list.into_iter().flatten().filter_map(source).collect();
        for source in collector.bounded(sources, "plugin", &file) {
            take(&file, source, context.config, level, collector);
        }
    }
}

/// Returns the source of an entry, which is a text, or a list of it and options.
fn source(entry: &Value) -> Option<&str> {
    entry.as_str().or_else(|| entry.get(0)?.as_str())
}

fn take(file: &Path, source: &str, config: &Config, level: Level, collector: &mut Collector<'_>) {
    let folder = file.parent().unwrap_or(file);
    let named = source.strip_prefix("file://").unwrap_or(source);
    let is_path = named.starts_with(['.', '/', '~']);
    let path = match named.strip_prefix("~/") {
        Some(rest) => Some(config.home.join(rest)),
        None if is_path => Some(paths::resolve(folder, Path::new(named))),
        None => installed(folder, source, config),
    };
    let module = match path {
        Some(path) if path.is_dir() => entry_of(&path, collector),
        path => path,
    };
    match module {
        Some(module) if module.is_file() => {
            // The module's exports do not show that it is a plugin; see `js-runtime/27_opencode.ts`.
            let key = if is_path {
                paths::key(&module)
            } else {
                package_name(source).to_owned()
            };
            collector.listed_as("opencode-plugin", module, key, level);
        }
        missing => {
            let message = format!("the opencode plugin `{source}` is not installed");
            let hint = "opencode installs it when it starts; or remove it from this file";
            collector.problem(Problem::warning(message).at(file).hint(hint));
            collector.note(
                missing.unwrap_or_else(|| folder.join(package_name(source))),
                Verdict::Missing,
            );
        }
    }
}

/// Returns the name of a package without its version.
fn package_name(source: &str) -> &str {
    let end = source.get(1..).and_then(|rest| rest.find('@'));
    end.map_or(source, |end| &source[..=end])
}

/// Returns the folder of an installed package.
fn installed(folder: &Path, source: &str, config: &Config) -> Option<PathBuf> {
    let name = package_name(source);
    let cache = config.roots.cache_home.join("opencode");
    let above = folder.ancestors().map(|folder| folder.join("node_modules"));
    let places = [
        cache.join("node_modules"),
        cache.join("packages").join(source).join("node_modules"),
        folder.join(".opencode/node_modules"),
    ];
    let mut places = places
        .into_iter()
        .chain(above)
        .map(|place| place.join(name));
    places.find(|place| place.is_dir())
}

/// Returns the module of a package that is imported by the package's name.
fn entry_of(package: &Path, collector: &mut Collector<'_>) -> Option<PathBuf> {
    let manifest = text::json(&package.join("package.json"), collector).value();
    let manifest = manifest.unwrap_or_default();
    let exports = manifest.get("exports");
    let exported = exports.and_then(|exports| {
        let server = exports.get("./server");
        server.or_else(|| exports.get(".")).or(Some(exports))
    });
    let named = exported
        .and_then(file_of_condition)
        .or_else(|| manifest.get("module")?.as_str())
        .or_else(|| manifest.get("main")?.as_str());
    let named = named
        .into_iter()
        .chain(["index.js", "index.ts", "src/index.ts"]);
    let mut files = named.map(|file| paths::join(package, file));
    files.find(|file| file.is_file())
}

/// Returns the file of an export: itself, or that of the first condition that `import` has.
fn file_of_condition(export: &Value) -> Option<&str> {
    let conditions = ["bun", "import", "node", "default"];
    export.as_str().or_else(|| {
        conditions
            .iter()
            .find_map(|condition| file_of_condition(export.get(condition)?))
    })
}
