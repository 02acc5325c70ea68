//! Finds and reads the modules of tools, as Bun does, because tools are written against Bun.
//!
//! `resolve` turns what an author wrote into a file, a Node builtin or a package of ours; `load`
//! turns a file into JavaScript that V8 takes. Both work on files only: nothing is ever
//! fetched from a network, and nothing is installed.

mod assets;
mod commonjs;
mod files;
mod globals;
mod node;
mod packages;
mod source;
mod tsconfig;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use deno_core::url::Url;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSource,
    ModuleSourceCode, ModuleSpecifier, ModuleType, RequestedModuleType, ResolutionKind,
};
use deno_error::JsErrorBox;
use futures::FutureExt;

pub(super) use node::{NodeServices, NpmFolders, Sys};
use source::{Form, Prepared};

/// The module loader of one isolate.
pub(super) struct Loader {
    node: Rc<NodeServices>,
    tsconfigs: tsconfig::Cache,
    /// Of every transformed file, for stack traces that show the author's lines.
    source_maps: RefCell<HashMap<String, Vec<u8>>>,
}

impl Loader {
    pub(super) fn new(node: Rc<NodeServices>) -> Self {
        Loader {
            node,
            tsconfigs: tsconfig::Cache::default(),
            source_maps: RefCell::default(),
        }
    }

    fn find(&self, specifier: &str, referrer: &str) -> Result<Url, JsErrorBox> {
        if let Some(url) = absolute_url(specifier)? {
            return Ok(url);
        }
        let referrer_url = Url::parse(referrer).ok();
        let from = referrer_url
            .as_ref()
            .and_then(|url| url.to_file_path().ok());
        if is_path(specifier) {
            let base = from.as_deref().and_then(Path::parent);
            return find_file(specifier, base, &shown(referrer, from.as_deref()));
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
            && !packages::installed_above(specifier, from)
        {
            return parse(module);
        }
        match self.node.resolve_import(specifier, referrer) {
            Ok(url) => Ok(url),
            // An installed copy that cannot be imported is worse than ours.
            Err(_) if let Some(module) = provided => parse(module),
            Err(error) if packages::installed_above(specifier, from) => Err(error),
            Err(_) => Err(no_package(specifier, &from.display().to_string())),
        }
    }

    fn read_module(&self, url: &Url, options: &ModuleLoadOptions) -> ModuleLoadResponse {
        if let Some(code) = globals::module_source(url) {
            return ModuleLoadResponse::Sync(Ok(javascript(code, url)));
        }
        let path = match url.to_file_path() {
            Ok(path) => path,
            Err(()) => return ModuleLoadResponse::Sync(Err(unsupported_scheme(url))),
        };
        match &options.requested_module_type {
            RequestedModuleType::Json => raw(&path, url, ModuleType::Json),
            RequestedModuleType::Text => raw(&path, url, ModuleType::Text),
            _ => self.read_code(&path, url),
        }
    }

    fn read_code(&self, path: &Path, url: &Url) -> ModuleLoadResponse {
        if let Some(code) = assets::as_module(path) {
            return ModuleLoadResponse::Sync(code.map(|code| javascript(code, url)));
        }
        let prepared = match source::prepare(path, url, &self.tsconfigs, &self.node) {
            Ok(prepared) => prepared,
            Err(error) => return ModuleLoadResponse::Sync(Err(error)),
        };
        let Prepared {
            code,
            source_map,
            form,
        } = prepared;
        match form {
            Form::Module => {
                if let Some(map) = source_map {
                    self.source_maps.borrow_mut().insert(url.to_string(), map);
                }
                ModuleLoadResponse::Sync(Ok(javascript(code, url)))
            }
            Form::CommonJs => {
                let (node, url) = (self.node.clone(), url.clone());
                ModuleLoadResponse::Async(
                    async move {
                        let facade = commonjs::module_facade(&node, &url, code).await?;
                        Ok(javascript(facade, &url))
                    }
                    .boxed_local(),
                )
            }
        }
    }
}

impl ModuleLoader for Loader {
    fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
        _kind: ResolutionKind,
    ) -> Result<ModuleSpecifier, JsErrorBox> {
        self.find(specifier, referrer)
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        self.read_module(specifier, &options)
    }

    fn get_source_map(&self, file_name: &str) -> Option<Cow<'_, [u8]>> {
        let map = self.source_maps.borrow().get(file_name).cloned();
        map.or_else(|| self.node.source_map(file_name))
            .map(Cow::Owned)
    }

    fn source_map_source_exists(&self, _source_url: &str) -> Option<bool> {
        // Every map is our own and names the file that it was made from.
        Some(true)
    }
}

/// A specifier that needs no referrer: a URL with a scheme of ours, Node's or a file's.
fn absolute_url(specifier: &str) -> Result<Option<Url>, JsErrorBox> {
    if let Some(rest) = specifier.strip_prefix("bun:") {
        return Err(JsErrorBox::generic(format!(
            "Cannot find module 'bun:{rest}': haft provides `bun` and Node's builtins, not Bun's own modules"
        )));
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
            let found = files::probe(&path)
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

fn is_path(specifier: &str) -> bool {
    specifier.starts_with("./")
        || specifier.starts_with("../")
        || specifier.starts_with('/')
        || specifier == "."
        || specifier == ".."
}

fn find_file(specifier: &str, base: Option<&Path>, referrer: &str) -> Result<Url, JsErrorBox> {
    let (path, query) = split_query(specifier);
    let joined = match base {
        Some(base) => base.join(path),
        None => PathBuf::from(path),
    };
    let clean = deno_runtime::deno_node::PathClean::clean(&joined);
    let found = files::probe(&clean).ok_or_else(|| no_module(specifier, referrer))?;
    let mut url = url_of(&found)?;
    url.set_query(query);
    Ok(url)
}

fn split_query(specifier: &str) -> (&str, Option<&str>) {
    match specifier.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (specifier, None),
    }
}

fn javascript(code: String, url: &Url) -> ModuleSource {
    ModuleSource::new(
        ModuleType::JavaScript,
        ModuleSourceCode::String(code.into()),
        url,
        None,
    )
}

fn raw(path: &Path, url: &Url, kind: ModuleType) -> ModuleLoadResponse {
    let read = files::read_text(path)
        .map(|text| ModuleSource::new(kind, ModuleSourceCode::String(text.into()), url, None));
    ModuleLoadResponse::Sync(read)
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

fn unsupported_scheme(url: &Url) -> JsErrorBox {
    JsErrorBox::generic(format!("Cannot load '{url}': only files can be loaded"))
}

fn parse(url: &str) -> Result<Url, JsErrorBox> {
    Url::parse(url).map_err(|error| JsErrorBox::generic(format!("'{url}' is not a URL: {error}")))
}

pub(super) fn url_of(path: &Path) -> Result<Url, JsErrorBox> {
    Url::from_file_path(path)
        .map_err(|()| JsErrorBox::generic(format!("'{}' is not an absolute path", path.display())))
}
