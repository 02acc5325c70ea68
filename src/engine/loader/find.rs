//! What a specifier means: a file, a Node builtin, a package of ours.
//!
//! Needs no isolate and runs no code, so the module graph is found by the very rules that the
//! loader follows. It sees the disk only through [`Disk`], which lets a caller watch it look.

use std::path::{Path, PathBuf};

use deno_core::url::Url;
use deno_error::JsErrorBox;

use super::files::Disk;
use super::{files, packages, tsconfig, unsupported_scheme, url_of};

/// Finds modules by what is on a disk.
pub(in crate::engine) struct Finder<'a, D: Disk, P: Packages> {
    pub(in crate::engine) tsconfigs: &'a tsconfig::Cache<D>,
    pub(in crate::engine) packages: &'a P,
}

/// Node's own resolution of bare specifiers.
pub(in crate::engine) trait Packages {
    /// The module that an `import` of `specifier` in `referrer` means.
    fn resolve_import(&self, specifier: &str, referrer: &Url) -> Result<Url, JsErrorBox>;
}

impl<D: Disk, P: Packages> Finder<'_, D, P> {
    /// The URL that `specifier` means in the module `referrer`.
    pub(in crate::engine) fn find(
        &self,
        specifier: &str,
        referrer: &str,
    ) -> Result<Url, JsErrorBox> {
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
            return Err(no_package(specifier, referrer));
        };
        self.find_bare(
            specifier,
            &from,
            referrer_url.as_ref().expect("`from` is made of it"),
        )
    }

    /// tsconfig paths, Node builtins, `node_modules`, packages of ours: in this order.
    fn find_bare(&self, specifier: &str, from: &Path, referrer: &Url) -> Result<Url, JsErrorBox> {
        if let Some(path) = self.tsconfigs.map(specifier, from) {
            return url_of(&path);
        }
        if deno_runtime::deno_node::is_builtin_node_module(specifier) {
            return parse(&format!("node:{specifier}"));
        }
        let provided = packages::provided(specifier);
        if let Some(module) = provided
            && !packages::installed_above(self.disk(), specifier, from)
        {
            return parse(module);
        }
        match self.packages.resolve_import(specifier, referrer) {
            Ok(url) => Ok(url),
            // An installed copy that cannot be imported is worse than ours.
            Err(_) if let Some(module) = provided => parse(module),
            Err(error) if packages::installed_above(self.disk(), specifier, from) => Err(error),
            Err(_) => Err(no_package(specifier, &from.display().to_string())),
        }
    }

    /// A specifier that needs no referrer: a URL with a scheme of ours, Node's or a file's.
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

    fn disk(&self) -> &D {
        &self.tsconfigs.disk
    }
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
