//! Module loader that follows Bun, because tools are written for Bun.
//!
//! `resolve` turns a specifier into a file, a Node builtin or a package of haft; `load` turns a
//! file into JavaScript for V8. Both work on files only: nothing is fetched from a network, and
//! nothing is installed.

mod assets;
mod cache_entry;
mod commonjs;
mod compile;
mod data_url;
mod deep_stack;
mod files;
mod find;
mod globals;
mod guard;
mod namespaces;
mod node;
mod packages;
mod prefetch;
mod required;
mod rewrite;
mod syntax;
mod sys;
mod tsconfig;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;

use deno_core::error::ModuleLoaderError;
use deno_core::url::Url;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSource,
    ModuleSourceCode, ModuleSpecifier, ModuleType, RequestedModuleType, ResolutionKind,
    SourceCodeCacheInfo,
};
use deno_error::JsErrorBox;
use futures::FutureExt;

pub(super) use files::{probe, real};
use find::unsupported_scheme;
pub(super) use find::{BunOnly, Finder, Packages};
pub(super) use guard::ReadGuard;
pub(super) use node::{NodeServices, NpmChecker, NpmFolders, resolve as resolve_in_node};
pub use packages::is_provided;
pub(super) use prefetch::Prefetch;
pub(super) use sys::Sys;
pub(super) use tsconfig::Cache as TsConfigs;

use super::load_trace;
use super::source::url_of;
use super::transpile_cache::{Key, Kind, LEAST};
use super::verify::{self, CodeFrom};
use assets::AssetKind;
pub(super) use assets::is_asset;
use cache_entry::{Form, Prepared};
use data_url::{DataMedia, DataUrl};
pub(super) use required::{Required, init_services};

/// The module loader of one isolate.
pub(super) struct Loader {
    node: Rc<NodeServices>,
    tsconfigs: tsconfig::Cache,
    bun_only: BunOnly,
    /// Source maps of the transformed files, for stack traces that show the author's lines.
    source_maps: RefCell<HashMap<String, Vec<u8>>>,
    /// Cache keys of bytecode that V8 has not made yet, by their short form.
    awaited: RefCell<HashMap<u64, Key>>,
}

impl Loader {
    pub(super) fn new(node: Rc<NodeServices>) -> Self {
        Loader {
            tsconfigs: tsconfig::Cache::on(node.sys()),
            node,
            bun_only: BunOnly::default(),
            source_maps: RefCell::default(),
            awaited: RefCell::default(),
        }
    }

    /// Returns the source map of a file that was compiled.
    pub(super) fn source_map(&self, file_name: &str) -> Option<Vec<u8>> {
        let map = self.source_maps.borrow().get(file_name).cloned();
        map.or_else(|| self.node.source_map(file_name))
    }

    fn finder(&self) -> Finder<'_, Sys, NodeServices> {
        Finder {
            tsconfigs: &self.tsconfigs,
            packages: &self.node,
            bun_only: &self.bun_only,
        }
    }

    fn read_module(&self, url: &Url, options: &ModuleLoadOptions) -> ModuleLoadResponse {
        let ours = globals::module_source(url).or_else(|| required::module_source(url));
        if let Some(code) = ours {
            return ModuleLoadResponse::Sync(Ok(javascript(code, url)));
        }
        if url.scheme() == "data" {
            return ModuleLoadResponse::Sync(self.read_data(url, &options.requested_module_type));
        }
        let path = match url.to_file_path() {
            Ok(path) => path,
            Err(()) => return ModuleLoadResponse::Sync(Err(unsupported_scheme(url))),
        };
        let kind = &options.requested_module_type;
        let as_data = *kind != RequestedModuleType::None || AssetKind::of_url(url).is_some();
        if let Err(refused) = self.node.guard.check(&path, as_data) {
            return ModuleLoadResponse::Sync(Err(refused));
        }
        match kind {
            RequestedModuleType::Json => self.raw(&path, url, ModuleType::Json),
            RequestedModuleType::Text => self.raw(&path, url, ModuleType::Text),
            _ => match AssetKind::of_url(url) {
                Some(kind) => {
                    let code = kind.as_module(&path, self.node.verifier());
                    ModuleLoadResponse::Sync(code.map(|code| javascript(code, url)))
                }
                None => self.read_code(&path, url),
            },
        }
    }

    /// Reads a module whose code is in its URL.
    fn read_data(
        &self,
        url: &Url,
        wanted: &RequestedModuleType,
    ) -> Result<ModuleSource, JsErrorBox> {
        let DataUrl { media, text } = DataUrl::parse(url)?;
        if let Some(verifier) = self.node.verifier() {
            verifier.check_text(&text, CodeFrom::DataUrl)?;
        }
        let kind = match (wanted, media) {
            (RequestedModuleType::Text, _) => ModuleType::Text,
            (RequestedModuleType::Json, _) => ModuleType::Json,
            (_, DataMedia::JavaScript | DataMedia::TypeScript) => {
                let code = compile::prepare_data(text, url, media == DataMedia::TypeScript)?;
                return Ok(javascript(code, url));
            }
            (_, DataMedia::Json) => {
                return Err(JsErrorBox::type_error(
                    "JSON in a `data:` URL is imported with `with { type: \"json\" }`",
                ));
            }
        };
        Ok(ModuleSource::new(
            kind,
            ModuleSourceCode::String(text.into()),
            url,
            None,
        ))
    }

    fn read_code(&self, path: &Path, url: &Url) -> ModuleLoadResponse {
        let verifier = self.node.verifier();
        if let Some(code) = assets::as_module(path, verifier) {
            return ModuleLoadResponse::Sync(code.map(|code| javascript(code, url)));
        }
        let prepared = match prefetch::take(path, verifier) {
            Some(prepared) => Ok(prepared),
            None => compile::prepare(path, url, &self.tsconfigs, &self.node),
        };
        let prepared = prepared.and_then(|prepared| {
            verify::no_manifest_changed()?;
            Ok(prepared)
        });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return ModuleLoadResponse::Sync(Err(error)),
        };
        let mut prepared = prepared;
        if prepared.form == Form::Module {
            self.node.make_debuggable(path, &mut prepared);
        }
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
                let bytecode = self.bytecode(&code, url);
                let mut source = javascript(code, url);
                source.code_cache = bytecode;
                ModuleLoadResponse::Sync(Ok(source))
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

    /// Reads a file as its text.
    fn raw(&self, path: &Path, url: &Url, kind: ModuleType) -> ModuleLoadResponse {
        let read = files::read_text(path, self.node.verifier())
            .map(|text| ModuleSource::new(kind, ModuleSourceCode::String(text.into()), url, None));
        ModuleLoadResponse::Sync(read)
    }

    /// Returns V8's bytecode of a large module, or registers that it is to be stored when V8 made
    /// it.
    fn bytecode(&self, code: &str, url: &Url) -> Option<SourceCodeCacheInfo> {
        let store = self.node.compiled.as_ref()?;
        if code.len() < LEAST {
            return None;
        }
        let key = Key::of(Kind::Bytecode, &[url.as_str().as_bytes(), code.as_bytes()]);
        let (hash, data) = (key.number(), store.find(&key).map(Cow::Owned));
        self.awaited.borrow_mut().insert(hash, key);
        Some(SourceCodeCacheInfo { hash, data })
    }
}

impl ModuleLoader for Loader {
    fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
        kind: ResolutionKind,
    ) -> Result<ModuleSpecifier, JsErrorBox> {
        let found = self.finder().find(specifier, referrer);
        verify::no_manifest_changed()?;
        if kind == ResolutionKind::DynamicImport {
            match found.as_ref().map(Url::to_file_path) {
                Ok(Ok(path)) => load_trace::imported_again(&path),
                Ok(Err(())) => {}
                Err(_) => load_trace::mark_uncacheable("it tries to import what is not there"),
            }
        }
        found.map(|url| required::in_place_of(url, referrer))
    }

    /// Resolves for `import.meta.resolve`. As in Bun and Node, a path need not lead to a file.
    fn import_meta_resolve(
        &self,
        specifier: &str,
        referrer: &str,
    ) -> Result<ModuleSpecifier, ModuleLoaderError> {
        let is_path = ["./", "../", "/"]
            .iter()
            .any(|it| specifier.starts_with(it));
        let is_url = specifier.contains(':') && !specifier.starts_with("bun:");
        match (Url::parse(referrer), Url::parse(specifier)) {
            (Ok(referrer), _) if is_path => referrer
                .join(specifier)
                .map_err(|error| JsErrorBox::type_error(error.to_string())),
            (_, Ok(url)) if is_url => Ok(url),
            _ => {
                let found = self.finder().find(specifier, referrer);
                if found.is_err() {
                    load_trace::mark_uncacheable("it looks for a module that is not there");
                }
                found
            }
        }
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        self.read_module(specifier, &options)
    }

    fn code_cache_ready(
        &self,
        _specifier: ModuleSpecifier,
        hash: u64,
        bytecode: &[u8],
    ) -> Pin<Box<dyn Future<Output = ()>>> {
        let key = self.awaited.borrow_mut().remove(&hash);
        if let (Some(key), Some(store)) = (key, &self.node.compiled) {
            store.keep(&key, bytecode);
        }
        Box::pin(std::future::ready(()))
    }

    fn get_source_map(&self, file_name: &str) -> Option<Cow<'_, [u8]>> {
        self.source_map(file_name).map(Cow::Owned)
    }

    fn source_map_source_exists(&self, _source_url: &str) -> Option<bool> {
        // Every map is our own and names the file that it was made from.
        Some(true)
    }
}

/// Returns the JavaScript that runs for the file at `path`, without imports that only types need;
/// `None` if it cannot be compiled.
pub(super) fn compiled(path: &Path) -> Option<String> {
    let node = NodeServices::new(None, None);
    let url = url_of(path).ok()?;
    let prepared = compile::prepare(path, &url, &tsconfig::Cache::default(), &node);
    prepared.ok().map(|prepared| prepared.code)
}

fn javascript(code: String, url: &Url) -> ModuleSource {
    ModuleSource::new(
        ModuleType::JavaScript,
        ModuleSourceCode::String(code.into()),
        url,
        None,
    )
}
