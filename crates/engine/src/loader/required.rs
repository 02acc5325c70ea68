//! `require` by the rules of `import`: TypeScript, tsconfig paths, files without an extension.
//!
//! Deno's `require` follows Node, which does not support these. `js-runtime/06_loader.ts` changes
//! its search for files. So `node:module`, which exports `createRequire`, is imported through a
//! module of haft that makes this change first.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use deno_core::FastString;
use deno_core::url::Url;
use deno_error::JsErrorBox;
use deno_runtime::deno_node::{NodeExtInitServices, NodeRequireLoader};
use deno_runtime::deno_permissions::{OpenAccessKind, PermissionsContainer};
use node_resolver::errors::PackageJsonLoadError;

use super::cache_entry::Form;
use super::compile::{form_of_file, prepare_required};
use super::find::{BunOnly, Finder};
use super::guard::Access;
use super::node::{NodeServices, NpmChecker, NpmFolders};
use super::sys::Sys;
use super::tsconfig;
use crate::source::url_of;
use crate::verify;

/// Finds the file that `require` means where Node's rules are not enough.
pub(crate) struct Required {
    node: Rc<NodeServices>,
    tsconfigs: tsconfig::Cache,
    bun_only: BunOnly,
}

impl Required {
    pub(crate) fn new(node: Rc<NodeServices>) -> Required {
        Required {
            tsconfigs: tsconfig::Cache::on(node.sys()),
            node,
            bun_only: BunOnly::default(),
        }
    }

    /// Admits the module at `entry`, which is loaded on purpose, with all that it imports.
    pub(crate) fn admit(&self, entry: &Path) {
        self.node.guard.admit(entry);
    }

    /// Returns the file that `require(specifier)` means in the file `from`.
    pub(crate) fn find(&self, specifier: &str, from: &Path) -> Option<PathBuf> {
        self.finder().find_required(specifier, from)
    }

    /// Returns the name of haft's own package that `require(specifier)` means in the file `from`.
    pub(crate) fn provided(&self, specifier: &str, from: &Path) -> Option<String> {
        self.finder().find_provided(specifier, from)
    }

    fn finder(&self) -> Finder<'_, Sys, NodeServices> {
        Finder {
            tsconfigs: &self.tsconfigs,
            packages: &*self.node,
            bun_only: &self.bun_only,
        }
    }

    /// Returns true if the file is an ES module by its syntax.
    pub(crate) fn is_es_module(&self, path: &Path) -> bool {
        form_of_file(path, &self.node) == Form::Module
    }
}

/// The module of haft that is imported in place of `node:module`.
const OURS: &str = "haft:node-module";

/// Returns [`OURS`] for `node:module`, and `url` otherwise.
pub(super) fn in_place_of(url: Url, referrer: &str) -> Url {
    if url.as_str() == "node:module" && referrer != OURS {
        Url::parse(OURS).unwrap_or(url)
    } else {
        url
    }
}

/// Returns the source of [`OURS`].
pub(super) fn module_source(url: &Url) -> Option<String> {
    (url.as_str() == OURS).then(|| {
        "import Module from \"node:module\";\n\
         globalThis[Symbol.for(\"haft.require\")](Module);\n\
         export * from \"node:module\";\n\
         export default Module;\n"
            .to_owned()
    })
}

/// Returns the services that Deno's Node extension needs.
pub(crate) fn init_services(
    services: &Rc<NodeServices>,
) -> NodeExtInitServices<NpmChecker, NpmFolders, Sys> {
    NodeExtInitServices {
        node_require_loader: Rc::new(RequireLoader {
            services: services.clone(),
            tsconfigs: tsconfig::Cache::on(services.sys()),
        }),
        node_resolver: services.resolver.clone(),
        pkg_json_resolver: services.manifests.clone(),
        sys: services.sys(),
    }
}

/// Reads files for `require`.
struct RequireLoader {
    services: Rc<NodeServices>,
    tsconfigs: tsconfig::Cache,
}

impl NodeRequireLoader for RequireLoader {
    fn ensure_read_permission<'a>(
        &self,
        permissions: &mut PermissionsContainer,
        path: Cow<'a, Path>,
    ) -> Result<Cow<'a, Path>, JsErrorBox> {
        if self.services.guard.is_search(&path) {
            return Ok(path);
        }
        let is_package = path
            .components()
            .any(|part| part.as_os_str() == "node_modules");
        match self.services.guard.check(&path, false)? {
            Access::OfModule => return Ok(path),
            // If `read` is unlimited, loading a package is not an access of the tool itself.
            Access::Granted if is_package => return Ok(path),
            Access::Granted => {}
        }
        permissions
            .check_open(path, OpenAccessKind::ReadNoFollow, Some("require()"))
            .map(deno_runtime::deno_permissions::CheckedPath::into_path)
            .map_err(JsErrorBox::from_err)
    }

    fn load_text_file_lossy(&self, path: &Path) -> Result<FastString, JsErrorBox> {
        let mut prepared = prepare_required(path, &self.tsconfigs, &self.services)?;
        self.services.make_debuggable(path, &mut prepared);
        verify::no_manifest_changed()?;
        verify::may_compile(&prepared.code, self.services.verifier());
        if let (Some(map), Ok(url)) = (prepared.source_map, url_of(path)) {
            let mut maps = self.services.required_source_maps.borrow_mut();
            maps.insert(url.to_string(), map.clone());
            maps.insert(path.display().to_string(), map);
        }
        Ok(prepared.code.into())
    }

    fn is_maybe_cjs(&self, specifier: &Url) -> Result<bool, PackageJsonLoadError> {
        self.is_maybe_cjs_from_require(specifier)
    }

    fn is_maybe_cjs_from_require(&self, specifier: &Url) -> Result<bool, PackageJsonLoadError> {
        let form = specifier
            .to_file_path()
            .map_or(Form::CommonJs, |path| form_of_file(&path, &self.services));
        Ok(form == Form::CommonJs)
    }
}
