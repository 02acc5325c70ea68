//! Module graph: everything that importing a module can read, found without running any of it.
//!
//! The graph is a list of facts about the disk: the bytes of files, the kinds of the paths that
//! resolution checked, the targets of links. Most checked paths are missing. As long as these facts
//! hold, walking again gives the same graph. So a cache or a grant only has to check them. Code
//! that cannot be known by reading (a computed path, code made of text) makes the graph open, and
//! is listed.

mod facts;
mod missing;
mod packages;
mod reader;
mod request_reader;
mod watched;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use sys_traits::FsCanonicalize;
use url::Url;

use super::loader::{BunOnly, Finder, TsConfigs, is_asset, probe, real};
use super::source::{DEEP_STACK, Imports, requests, text_of, url_of};
pub use super::source::{DynamicImport, What, on_deep_stack};
pub use facts::digest_of_file;
pub use facts::{Checker, Kind};
use packages::Packages;
use reader::Apart;
pub use reader::{Reader, StartReader, serve_reader, set_reader};
pub use request_reader::RequestReader;
use watched::Watched;

use haft_tool::PermissionRequest;

/// Limit of the files in one graph.
const MAX_FILES: usize = 50_000;

/// The graph of one module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The module it starts from, as it was requested.
    pub entry: PathBuf,
    /// Every file that was read, with the hash (blake3, hex) of its bytes.
    pub files: BTreeMap<PathBuf, String>,
    /// Data beside the module that it names (`new URL("x.md", import.meta.url)`), with its hash if
    /// it exists. The tool may write it, because it is not code.
    pub assets: BTreeMap<PathBuf, Option<String>>,
    /// Kinds of all other paths that resolution checked.
    pub looked_at: BTreeMap<PathBuf, Kind>,
    /// Targets of the links that were followed.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// The files that are loaded. No part of these paths is a link.
    pub modules: BTreeSet<PathBuf>,
    /// Specifiers that resolve to nothing, by the file that contains them.
    pub missing: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Node's builtins that are imported, without `node:`.
    pub builtins: BTreeSet<String>,
    /// Places that make the graph incomplete.
    pub openings: BTreeSet<DynamicImport>,
    /// Permissions that the entry asks for.
    #[serde(default)]
    pub requests: Vec<PermissionRequest>,
}

impl Graph {
    /// Returns true if the module may load code that is not in the graph.
    pub fn is_open(&self) -> bool {
        let mut openings = self.openings.iter();
        // WebAssembly can import only what its module passes to it.
        openings.any(|opening| opening.what != What::CodeFromBytes)
    }
}

/// Returns the graph of the module at `entry`, an absolute path.
pub fn module_graph(entry: &Path) -> Graph {
    Grapher::default().graph(entry)
}

/// Returns the files that the module at `entry`, an absolute path, loads by literal specifiers.
pub(super) fn module_files(entry: &Path) -> BTreeSet<PathBuf> {
    module_graph(entry).modules
}

/// Does the same as [`module_graph`] for a module of a project that may not be trusted.
pub fn untrusted_module_graph(entry: &Path) -> Graph {
    Grapher::for_untrusted().graph(entry)
}

/// Builds the graphs of many modules; files that they share are parsed once.
///
/// It caches the imports of files, so it must not outlive one round of building.
#[derive(Default)]
pub struct Grapher {
    imports: RefCell<HashMap<(PathBuf, String), Rc<Imports>>>,
    /// Parses text in another process; `None` parses it in this one.
    apart: Option<Rc<RefCell<Apart>>>,
}

impl Grapher {
    /// Returns a grapher for projects that may not be trusted: their text is parsed in another
    /// process.
    pub fn for_untrusted() -> Grapher {
        Grapher {
            apart: Some(Rc::default()),
            ..Grapher::default()
        }
    }

    /// Returns the graph of the module at `entry`, an absolute path.
    pub fn graph(&self, entry: &Path) -> Graph {
        // The parser recurses as deep as the code nests, and the code may be hostile.
        stacker::maybe_grow(DEEP_STACK, DEEP_STACK, || self.walk(entry))
    }

    /// Returns the graph of a file that imports nothing: a program, a declaration. Never parses it.
    pub fn lone_file(&self, entry: &Path) -> Graph {
        let mut walk = self.start(entry);
        // A file that cannot be read is noted as well.
        if let Err(what) = walk.disk.hash(entry) {
            walk.open(entry, what);
        }
        let _ = walk.disk.fs_canonicalize(entry);
        walk.finish()
    }

    /// Returns the graph of a file that names others, which programs run. Those that are modules are
    /// followed.
    pub fn with_files(&self, entry: &Path, named: impl IntoIterator<Item = PathBuf>) -> Graph {
        stacker::maybe_grow(DEEP_STACK, DEEP_STACK, || {
            let mut walk = self.start(entry);
            if let Err(what) = walk.disk.hash(entry) {
                walk.open(entry, what);
            }
            let _ = walk.disk.fs_canonicalize(entry);
            for file in named {
                if has_extension(&file, &["js", "mjs", "cjs", "ts", "mts", "cts"]) {
                    walk.enqueue(file);
                } else {
                    // Listed with its digest, without a look for imports.
                    if let Err(what) = walk.disk.hash(&file) {
                        walk.open(&file, what);
                    }
                    walk.queued.insert(file);
                }
            }
            walk.finish()
        })
    }

    /// Returns the permissions that the YAML tool at `entry` asks for.
    pub fn requests_of_declaration(&self, entry: &Path) -> Option<PermissionRequest> {
        let bytes = Watched::default().read_source(entry).ok()?;
        match &self.apart {
            Some(apart) => apart.borrow_mut().requests_of_declaration(entry, &bytes),
            None => requests::of_declaration(entry, &text_of(bytes)),
        }
    }

    fn walk(&self, entry: &Path) -> Graph {
        let mut walk = self.start(entry);
        match probe(&walk.disk, entry) {
            Some(file) => {
                walk.entry_file.clone_from(&file);
                walk.enqueue(file);
            }
            None => walk.miss(entry, &entry.display().to_string()),
        }
        walk.finish()
    }

    fn start(&self, entry: &Path) -> Walk<'_> {
        let disk = Watched::default();
        Walk {
            grapher: self,
            packages: Packages::on(disk.clone()),
            tsconfigs: TsConfigs::on(disk.clone()),
            bun_only: self.bun_only(),
            disk,
            graph: Graph {
                entry: entry.to_owned(),
                ..Graph::default()
            },
            queue: Vec::new(),
            queued: BTreeSet::new(),
            is_full: false,
            required: BTreeSet::new(),
            entry_file: PathBuf::new(),
        }
    }

    fn bun_only(&self) -> BunOnly {
        let Some(apart) = self.apart.clone() else {
            return BunOnly::default();
        };
        let read = move |path: &Path, bytes: &[u8]| apart.borrow_mut().imports(path, bytes);
        BunOnly::reading(Box::new(read))
    }

    fn imports(&self, path: &Path, bytes: &[u8]) -> Rc<Imports> {
        let key = (path.to_owned(), facts::digest(bytes));
        let mut known = self.imports.borrow_mut();
        let read = || {
            Rc::new(match &self.apart {
                Some(apart) => apart.borrow_mut().imports(path, bytes),
                None => Imports::of(path, text_of(bytes.to_vec())),
            })
        };
        known.entry(key).or_insert_with(read).clone()
    }

    /// Returns the imports of the compiled file; `None` if it cannot be compiled.
    fn imports_at_run_time(&self, path: &Path) -> Option<Imports> {
        match &self.apart {
            Some(apart) => apart.borrow_mut().imports_at_run_time(path),
            None => missing::imports_at_run_time(path),
        }
    }
}

/// State of one walk from an entry to everything that it imports.
struct Walk<'a> {
    grapher: &'a Grapher,
    disk: Watched,
    packages: Packages,
    tsconfigs: TsConfigs<Watched>,
    bun_only: BunOnly,
    graph: Graph,
    queue: Vec<PathBuf>,
    queued: BTreeSet<PathBuf>,
    /// Set if the limit of files was reached.
    is_full: bool,
    /// Files that `require` runs as code, whatever their extension is.
    required: BTreeSet<PathBuf>,
    /// The file that the entry means, once it is known. Only its request for permissions counts.
    entry_file: PathBuf,
}

impl Walk<'_> {
    fn finish(mut self) -> Graph {
        while let Some(path) = self.queue.pop() {
            self.visit(&path);
        }
        self.disk.give(&mut self.graph);
        self.graph.modules = self.queued;
        self.graph
    }

    fn open(&mut self, path: &Path, what: What) {
        self.graph.openings.insert(DynamicImport {
            path: path.to_owned(),
            line: 0,
            what,
        });
    }

    fn visit(&mut self, path: &Path) {
        if !is_code(path) && !self.required.contains(path) {
            if let Err(what) = self.disk.hash(path) {
                self.open(path, what);
            }
            return;
        }
        let bytes = match self.disk.read_source(path) {
            Ok(bytes) => bytes,
            Err(what) => {
                if let Some(what) = what {
                    self.open(path, what);
                }
                return;
            }
        };
        let Ok(url) = url_of(path) else {
            return;
        };
        let imports = self.grapher.imports(path, &bytes);
        for (line, what) in &imports.openings {
            self.graph.openings.insert(DynamicImport {
                path: path.to_owned(),
                line: *line,
                what: *what,
            });
        }
        // Both determine how the file is compiled, even if it imports nothing.
        let manifest = self.packages.closest_manifest(path);
        if path == self.entry_file {
            self.note_requests(path, &imports, manifest.as_deref());
        }
        let config = self.tsconfigs.of(path);
        let jsx = imports.has_jsx.then(|| {
            let source = config.and_then(|config| config.jsx_import_source.clone());
            source.unwrap_or_else(|| "react".to_owned())
        });
        let jsx = jsx.into_iter().chain(imports.jsx_sources.iter().cloned());
        let jsx: Vec<_> = jsx.map(|source| format!("{source}/jsx-runtime")).collect();
        for specifier in imports.imported.iter().chain(&jsx) {
            let found = self.import(specifier, &url);
            if !found {
                self.miss(path, specifier);
            }
        }
        for specifier in &imports.required {
            // Tools are written for Bun, whose `require` resolves like `import`, but Node's
            // `require` runs them. So the files that either would find are in the graph.
            let required = self.require(specifier, path, &url);
            let imported = self.import(specifier, &url);
            if !required && !imported {
                self.miss(path, specifier);
            }
        }
        for asset in &imports.assets {
            match url.join(asset).map(|asset| asset.to_file_path()) {
                Ok(Ok(file)) if is_data(&file) => {
                    let hash = facts::digest_of_file(&file);
                    self.graph.assets.insert(file, hash);
                }
                // A worker, or a script for another program: code. It was written as a URL or as a
                // specifier.
                decoded => {
                    if let Ok(Ok(file)) = decoded
                        && let Some(file) = probe(&self.disk, &file)
                    {
                        self.enqueue(file);
                    }
                    self.import(asset, &url);
                }
            }
        }
    }

    fn note_requests(&mut self, path: &Path, imports: &Imports, manifest: Option<&Path>) {
        let in_module = imports.permissions.clone();
        let in_module = in_module.map(|found| requests::of_module(path, found));
        let in_manifest = manifest.and_then(|manifest| {
            let bytes = self.disk.read_source(manifest).ok()?;
            requests::of_manifest(manifest, &bytes)
        });
        self.graph.requests = in_module.into_iter().chain(in_manifest).collect();
    }

    fn import(&mut self, specifier: &str, referrer: &Url) -> bool {
        let finder = Finder {
            tsconfigs: &self.tsconfigs,
            packages: &self.packages,
            bun_only: &self.bun_only,
        };
        match finder.find(specifier, referrer.as_str()) {
            Ok(url) => self.follow(&url),
            Err(_) => false,
        }
    }

    fn require(&mut self, specifier: &str, path: &Path, referrer: &Url) -> bool {
        let is_path = specifier.starts_with('.') || specifier.starts_with('/');
        if is_path {
            let found = packages::required_file(&self.disk, specifier, path);
            let is_found = found.is_some();
            if let Some(file) = found {
                let file = real(&self.disk, file);
                self.enqueue_required(file);
            }
            return is_found;
        }
        match self.packages.resolve_require(specifier, referrer) {
            Ok(url) => match url.to_file_path() {
                Ok(file) => {
                    let file = real(&self.disk, file);
                    self.enqueue_required(file);
                    true
                }
                Err(()) => self.follow(&url),
            },
            Err(_) => false,
        }
    }

    fn follow(&mut self, url: &Url) -> bool {
        match url.scheme() {
            "node" => {
                self.graph.builtins.insert(url.path().to_owned());
            }
            "file" => match url.to_file_path() {
                Ok(file) => self.enqueue(file),
                Err(()) => return false,
            },
            // A module of haft itself, which is not on the disk.
            _ => {}
        }
        true
    }

    /// Adds a file. Its path must not contain links.
    fn enqueue(&mut self, file: PathBuf) {
        if self.queued.len() >= MAX_FILES && !self.queued.contains(&file) {
            if !self.is_full {
                self.open(&file, What::TooManyFiles);
            }
            self.is_full = true;
            return;
        }
        if self.queued.insert(file.clone()) {
            self.queue.push(file);
        }
    }

    /// Adds a file that `require` runs: it treats everything but JSON and native code as CommonJS.
    fn enqueue_required(&mut self, file: PathBuf) {
        let is_run = !has_extension(&file, &["json", "node"]);
        if is_run && self.required.insert(file.clone()) && self.queued.contains(&file) {
            // The file may have been visited as data before.
            self.queue.push(file.clone());
        }
        self.enqueue(file);
    }

    fn miss(&mut self, path: &Path, specifier: &str) {
        let missing = self.graph.missing.entry(path.to_owned()).or_default();
        missing.insert(specifier.to_owned());
    }
}

/// Returns false for files that are imported as data, or whose code is not text.
fn is_code(path: &Path) -> bool {
    !is_asset(path) && !has_extension(path, &["node"])
}

/// Returns true for files that are never run.
fn is_data(path: &Path) -> bool {
    const DATA: &[&str] = &[
        "json", "jsonc", "json5", "jsonl", "yaml", "yml", "toml", "txt", "md", "html", "css",
        "sql", "graphql", "csv", "xml", "svg", "log", "db", "sqlite", "png", "jpg", "jpeg", "gif",
        "webp",
    ];
    has_extension(path, DATA)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let own = path.extension().and_then(|extension| extension.to_str());
    own.is_some_and(|own| extensions.contains(&own))
}
