//! Options of a tool's `tsconfig.json`: module paths, decorators and JSX.
//!
//! Only the nearest file above the importing one counts, with the files that it extends. A broken
//! tsconfig is ignored, so that a tool does not fail because of an editor's file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use deno_core::serde_json::Value;

use super::files::{self, Disk};
use super::sys::Sys;
use crate::source::text_of;

/// Cache of the tsconfig of each directory; each is read once in an isolate.
#[derive(Default)]
pub(crate) struct Cache<D = Sys> {
    pub(super) disk: D,
    by_directory: RefCell<HashMap<PathBuf, Option<Rc<TsConfig>>>>,
}

/// The options that change the code that runs.
#[derive(Clone, Default)]
pub(crate) struct TsConfig {
    /// Folder that `paths` and `baseUrl` are relative to.
    base: PathBuf,
    has_base_url: bool,
    paths: Vec<(String, Vec<String>)>,
    pub(super) legacy_decorators: bool,
    pub(super) decorator_metadata: bool,
    pub(super) jsx_classic: bool,
    pub(crate) jsx_import_source: Option<String>,
}

impl<D: Disk> Cache<D> {
    /// Returns a cache for the files on `disk`.
    pub(crate) fn on(disk: D) -> Self {
        Cache {
            disk,
            by_directory: RefCell::default(),
        }
    }

    /// Returns the tsconfig that applies to the file `from`.
    pub(crate) fn of(&self, from: &Path) -> Option<Rc<TsConfig>> {
        self.of_directory(from.parent()?)
    }

    fn of_directory(&self, directory: &Path) -> Option<Rc<TsConfig>> {
        // Packages are compiled already, so their authors' tsconfig does not matter.
        if directory.ends_with("node_modules") {
            return None;
        }
        if let Some(known) = self.by_directory.borrow().get(directory) {
            return known.clone();
        }
        let own = directory.join("tsconfig.json");
        let found = if self.disk.fs_is_file_no_err(&own) {
            read(&self.disk, &own, 0).map(Rc::new)
        } else {
            directory
                .parent()
                .and_then(|parent| self.of_directory(parent))
        };
        self.by_directory
            .borrow_mut()
            .insert(directory.to_owned(), found.clone());
        found
    }

    /// Returns the file that `paths` or `baseUrl` give for a bare specifier in `from`.
    pub(super) fn map(&self, specifier: &str, from: &Path) -> Option<PathBuf> {
        self.of(from)?.map(&self.disk, specifier)
    }
}

impl TsConfig {
    fn map(&self, disk: &impl Disk, specifier: &str) -> Option<PathBuf> {
        let by_pattern = self.paths.iter().find_map(|(pattern, targets)| {
            let filled = matched(pattern, specifier)?;
            // Declarations are for the compiler; what runs is found elsewhere.
            let targets = targets.iter().filter(|target| !is_declaration(target));
            let mut targets = targets.map(|target| target.replacen('*', filled, 1));
            targets.find_map(|target| files::probe(disk, &self.base.join(target)))
        });
        by_pattern.or_else(|| {
            self.has_base_url
                .then(|| files::probe(disk, &self.base.join(specifier)))
                .flatten()
        })
    }
}

fn is_declaration(target: &str) -> bool {
    [".d.ts", ".d.mts", ".d.cts"]
        .iter()
        .any(|end| target.ends_with(end))
}

/// Returns the text that `*` in the pattern stands for; empty for a pattern without one.
fn matched<'a>(pattern: &str, specifier: &'a str) -> Option<&'a str> {
    match pattern.split_once('*') {
        Some((prefix, suffix)) => specifier.strip_prefix(prefix)?.strip_suffix(suffix),
        None => (pattern == specifier).then_some(""),
    }
}

/// Depth limit of files that extend one another; it ends a circle.
const MAX_EXTENDS: usize = 16;

fn read(disk: &impl Disk, path: &Path, depth: usize) -> Option<TsConfig> {
    if depth > MAX_EXTENDS {
        return None;
    }
    let text = text_of(disk.fs_read(path).ok()?.into_owned());
    let json: Value = jsonc_parser::parse_to_serde_value(&text, &Default::default()).ok()?;
    let directory = path.parent()?;
    let mut config = extended(disk, &json, directory, depth);
    let options = json.get("compilerOptions").cloned().unwrap_or_default();
    if let Some(base_url) = options.get("baseUrl").and_then(Value::as_str) {
        config.base = clean(&directory.join(base_url));
        config.has_base_url = true;
    }
    if let Some(paths) = options.get("paths").and_then(Value::as_object) {
        if !config.has_base_url {
            config.base = directory.to_owned();
        }
        config.paths = paths
            .iter()
            .map(|(key, list)| (key.clone(), strings(list)))
            .collect();
    }
    let flag = |name: &str, old: bool| options.get(name).and_then(Value::as_bool).unwrap_or(old);
    config.legacy_decorators = flag("experimentalDecorators", config.legacy_decorators);
    config.decorator_metadata = flag("emitDecoratorMetadata", config.decorator_metadata);
    if let Some(jsx) = options.get("jsx").and_then(Value::as_str) {
        config.jsx_classic = jsx == "react";
    }
    if let Some(source) = options.get("jsxImportSource").and_then(Value::as_str) {
        config.jsx_import_source = Some(source.to_owned());
    }
    Some(config)
}

/// Returns the configuration that `extends` names, a path or a list of them; later ones win.
fn extended(disk: &impl Disk, json: &Value, directory: &Path, depth: usize) -> TsConfig {
    let names = match json.get("extends") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(list) => strings(list),
        None => return TsConfig::default(),
    };
    let mut result = TsConfig::default();
    for name in names
        .iter()
        .filter(|name| name.starts_with('.') || name.starts_with('/'))
    {
        let path = clean(&directory.join(name));
        let path = if disk.fs_is_file_no_err(&path) {
            path
        } else {
            path.with_extension("json")
        };
        if let Some(config) = read(disk, &path, depth + 1) {
            result = config;
        }
    }
    result
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn clean(path: &Path) -> PathBuf {
    deno_runtime::deno_node::PathClean::clean(&path.to_owned())
}
