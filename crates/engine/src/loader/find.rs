//! Resolves a specifier to a file, a Node builtin or a package of haft.
//!
//! It needs no isolate and runs no code, so the module graph is built by the same rules that the
//! loader follows. It accesses the disk only through [`Disk`], so that a caller can record the
//! accesses.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use deno_core::serde_json::{self, Value};
use deno_core::url::Url;
use deno_error::JsErrorBox;

use super::assets::{self, AssetKind};
use super::files::Disk;
use super::{files, packages, tsconfig};
use crate::source::{Imports, text_of, url_of};

/// Resolves specifiers by the files on a disk.
pub(crate) struct Finder<'a, D: Disk, P: Packages> {
    pub(crate) tsconfigs: &'a tsconfig::Cache<D>,
    pub(crate) packages: &'a P,
    pub(crate) bun_only: &'a BunOnly,
}

/// Node's own resolution of bare specifiers.
pub(crate) trait Packages {
    /// Returns the module that an `import` of `specifier` in `referrer` means.
    fn resolve_import(&self, specifier: &str, referrer: &Url) -> Result<Url, JsErrorBox>;
}

impl<D: Disk, P: Packages> Finder<'_, D, P> {
    /// Returns the URL that `specifier` means in the module `referrer`.
    pub(crate) fn find(&self, specifier: &str, referrer: &str) -> Result<Url, JsErrorBox> {
        let (specifier, kind) = AssetKind::split(specifier);
        let mut found = self.find_plain(specifier, referrer)?;
        if let Some(kind) = kind {
            kind.ask_in(&mut found);
        }
        Ok(found)
    }

    fn find_plain(&self, specifier: &str, referrer: &str) -> Result<Url, JsErrorBox> {
        if let Some(url) = self.absolute_url(specifier)? {
            return Ok(url);
        }
        let referrer_url = Url::parse(referrer).ok();
        let from = referrer_url
            .as_ref()
            .and_then(|url| url.to_file_path().ok());
        if is_path(specifier) {
            let base = from.as_deref().and_then(Path::parent);
            return self.find_file(specifier, base, &shown(referrer, from.as_deref()));
        }
        let Some(from) = from else {
            // Code from a `data:` URL is not in a folder.
            return if is_node_builtin(specifier) {
                parse(&format!("node:{specifier}"))
            } else {
                Err(no_package(specifier, referrer))
            };
        };
        self.find_bare(
            specifier,
            &from,
            referrer_url.as_ref().expect("`from` is made of it"),
        )
    }

    /// Returns the file that `require(specifier)` means in the file `from` by the rules of
    /// `import`. Used where Node's own rules find nothing or, outside of packages, another file
    /// than `import` does.
    pub(crate) fn find_required(&self, specifier: &str, from: &Path) -> Option<PathBuf> {
        let url = url_of(from).ok()?;
        let found = if is_path(specifier) {
            self.find_file(specifier, from.parent(), "").ok()?
        } else {
            self.tsconfigs
                .map(specifier, from)
                .and_then(|path| url_of(&path).ok())
                .or_else(|| self.find_legacy(specifier, from))
                .or_else(|| self.packages.resolve_import(specifier, &url).ok())?
        };
        found.to_file_path().ok()
    }

    /// Returns the name of haft's own package that `import` would load for `specifier` in the file
    /// `from`.
    pub(crate) fn find_provided(&self, specifier: &str, from: &Path) -> Option<String> {
        // Most specifiers need no further look.
        packages::provided(specifier)?;
        let url = self.find(specifier, url_of(from).ok()?.as_str()).ok()?;
        (url.scheme() == "haft").then(|| url.path().to_owned())
    }

    /// Resolves a bare specifier by tsconfig paths, Node builtins, `node_modules` and haft's
    /// packages.
    fn find_bare(&self, specifier: &str, from: &Path, referrer: &Url) -> Result<Url, JsErrorBox> {
        let provided = packages::provided(specifier);
        // A checkout of an agent maps its own packages to their sources, which are the whole agent.
        if !provided.is_some_and(packages::replaces_mapped)
            && let Some(path) = self.tsconfigs.map(specifier, from)
        {
            return url_of(&path);
        }
        if is_node_builtin(specifier) {
            return parse(&format!("node:{specifier}"));
        }
        if let Some(module) = provided
            && (packages::replaces_installed(module)
                || !packages::installed_above(self.disk(), specifier, from))
        {
            return parse(module);
        }
        let installed = self.packages.resolve_import(specifier, referrer);
        let installed = installed.map(|url| self.real(url));
        match (installed, provided) {
            // An installed copy that cannot be imported, or that only Bun can run, is worse than
            // haft's own.
            (Err(_), Some(module)) => parse(module),
            (Ok(url), Some(module))
                if packages::may_be_bun_only(module) && self.is_bun_only(&url) =>
            {
                parse(module)
            }
            (Ok(url), _) => Ok(url),
            (Err(error), None) => {
                if let Some(url) = self.find_legacy(specifier, from) {
                    return Ok(url);
                }
                if packages::installed_above(self.disk(), specifier, from) {
                    Err(error)
                } else {
                    Err(no_package(specifier, &from.display().to_string()))
                }
            }
        }
    }

    /// Returns a file of an installed package without `exports`, found as `require` and bundlers
    /// do: by `module`, by `index`, and with an extension added.
    fn find_legacy(&self, specifier: &str, from: &Path) -> Option<Url> {
        let folder = packages::folder_above(self.disk(), specifier, from)?;
        let manifest = self.disk().fs_read_to_string(folder.join("package.json"));
        let manifest: Value = serde_json::from_str(&manifest.ok()?).ok()?;
        if manifest
            .get("exports")
            .is_some_and(|exports| !exports.is_null())
        {
            return None;
        }
        let inside = packages::subpath(specifier);
        let found = files::probe(self.disk(), &folder.join(inside))?;
        url_of(&found).ok()
    }

    /// Returns true if importing the file at `url` fails in any runtime but Bun. That is so if a
    /// static import, direct or indirect, is a module of Bun's own that haft does not provide.
    fn is_bun_only(&self, url: &Url) -> bool {
        let Ok(entry) = url.to_file_path() else {
            return false;
        };
        if let Some(known) = self.bun_only.known.borrow().get(&entry) {
            return *known;
        }
        let is_bun_only = self.reaches_bun(&entry);
        self.bun_only.known.borrow_mut().insert(entry, is_bun_only);
        is_bun_only
    }

    fn reaches_bun(&self, entry: &Path) -> bool {
        let mut seen = BTreeSet::from([entry.to_owned()]);
        let mut queue = VecDeque::from([entry.to_owned()]);
        while let Some(path) = queue.pop_front() {
            if seen.len() > MAX_FILES_SEARCHED || assets::is_asset(&path) {
                continue;
            }
            let (Ok(bytes), Ok(url)) = (self.disk().fs_read(&path), url_of(&path)) else {
                continue;
            };
            let imports = self.bun_only.imports(&path, &bytes);
            for specifier in imports.at_load() {
                if is_missing_bun_module(specifier) {
                    return true;
                }
                // Provided modules run; a module that is not found fails for another reason.
                let found = self.find_installed(specifier, &path, &url);
                let file = found.and_then(|url| url.to_file_path().ok());
                if let Some(file) = file
                    && seen.insert(file.clone())
                {
                    queue.push_back(file);
                }
            }
        }
        false
    }

    fn find_installed(&self, specifier: &str, path: &Path, url: &Url) -> Option<Url> {
        match is_path(specifier) {
            true => self.find_file(specifier, path.parent(), "").ok(),
            false if specifier.contains(':') || is_node_builtin(specifier) => None,
            false => self.packages.resolve_import(specifier, url).ok(),
        }
    }

    /// Resolves a specifier that needs no referrer: a URL with the scheme of haft, Node or a file.
    fn absolute_url(&self, specifier: &str) -> Result<Option<Url>, JsErrorBox> {
        if specifier.starts_with("bun:") {
            let refused = || {
                let why = "haft provides `bun`, `bun:sqlite` and Node's builtins, not Bun's other modules";
                JsErrorBox::generic(format!("Cannot find module '{specifier}': {why}"))
            };
            return parse(packages::provided(specifier).ok_or_else(refused)?).map(Some);
        }
        if specifier == "bun" {
            return parse("haft:bun").map(Some);
        }
        let Some((scheme, _)) = specifier.split_once(':') else {
            return Ok(None);
        };
        match scheme {
            "file" => {
                let url = parse(specifier)?;
                let path = url.to_file_path().map_err(|()| unsupported_scheme(&url))?;
                let found = files::probe(self.disk(), &path)
                    .ok_or_else(|| no_module(&path.display().to_string(), "haft"))?;
                let mut found = url_of(&found)?;
                // A query makes a fresh instance of the module, as in Bun and Node.
                found.set_query(url.query());
                Ok(Some(found))
            }
            "node" | "haft" | "data" | "blob" => parse(specifier).map(Some),
            "http" | "https" | "npm" | "jsr" => Err(JsErrorBox::generic(format!(
                "Cannot import '{specifier}': haft loads modules from files only; install the package beside the tool"
            ))),
            _ => Ok(None),
        }
    }

    fn find_file(
        &self,
        specifier: &str,
        base: Option<&Path>,
        referrer: &str,
    ) -> Result<Url, JsErrorBox> {
        let (path, query) = split_query(specifier);
        let joined = match base {
            Some(base) => base.join(path),
            None => PathBuf::from(path),
        };
        let clean = deno_runtime::deno_node::PathClean::clean(&joined);
        let found =
            files::probe(self.disk(), &clean).ok_or_else(|| no_module(specifier, referrer))?;
        let mut url = url_of(&found)?;
        url.set_query(query);
        Ok(url)
    }

    /// Returns the URL of the same file with all links followed.
    fn real(&self, url: Url) -> Url {
        let real = match url.to_file_path() {
            Ok(path) => url_of(&files::real(self.disk(), path)),
            Err(()) => return url,
        };
        match real {
            Ok(mut real) => {
                real.set_query(url.query());
                real
            }
            Err(_) => url,
        }
    }

    fn disk(&self) -> &D {
        &self.tsconfigs.disk
    }
}

/// Cache of the packages that only Bun can run, by their entries. Filled once in an isolate.
#[derive(Default)]
pub(crate) struct BunOnly {
    known: RefCell<HashMap<PathBuf, bool>>,
    /// Finds the imports of a file; `None` does it in this process.
    read: Option<ReadImports>,
}

/// Finds the imports of the file at a path, from its bytes.
type ReadImports = Box<dyn Fn(&Path, &[u8]) -> Imports>;

impl BunOnly {
    /// Returns a cache for packages that may not be trusted: `read` parses their text in another
    /// process.
    pub(crate) fn reading(read: ReadImports) -> Self {
        BunOnly {
            read: Some(read),
            ..BunOnly::default()
        }
    }

    fn imports(&self, path: &Path, bytes: &[u8]) -> Imports {
        match &self.read {
            Some(read) => read(path, bytes),
            None => Imports::of(path, text_of(bytes.to_vec())),
        }
    }
}

/// Limit of the files of a package that are searched for imports of Bun's own modules.
const MAX_FILES_SEARCHED: usize = 5000;

/// Returns true for a module of Bun's own that haft does not provide.
fn is_missing_bun_module(specifier: &str) -> bool {
    specifier.starts_with("bun:") && packages::provided(specifier).is_none()
}

fn is_node_builtin(specifier: &str) -> bool {
    deno_runtime::deno_node::is_builtin_node_module(specifier)
}

fn is_path(specifier: &str) -> bool {
    specifier.starts_with("./")
        || specifier.starts_with("../")
        || specifier.starts_with('/')
        || specifier == "."
        || specifier == ".."
}

fn split_query(specifier: &str) -> (&str, Option<&str>) {
    match specifier.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (specifier, None),
    }
}

fn shown(referrer: &str, path: Option<&Path>) -> String {
    path.map_or_else(|| referrer.to_owned(), |path| path.display().to_string())
}

fn no_module(specifier: &str, referrer: &str) -> JsErrorBox {
    JsErrorBox::generic(format!(
        "Cannot find module '{specifier}' imported from {referrer}"
    ))
}

fn no_package(specifier: &str, referrer: &str) -> JsErrorBox {
    JsErrorBox::generic(format!(
        "Cannot find package '{specifier}' imported from {referrer}"
    ))
}

fn parse(url: &str) -> Result<Url, JsErrorBox> {
    Url::parse(url).map_err(|error| JsErrorBox::generic(format!("'{url}' is not a URL: {error}")))
}

/// Returns the error for a specifier that is not a file.
pub(super) fn unsupported_scheme(url: &Url) -> JsErrorBox {
    JsErrorBox::generic(format!("Cannot load '{url}': only files can be loaded"))
}
