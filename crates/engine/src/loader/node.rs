//! Node's own resolution: `node_modules`, `package.json` with `exports` and `imports`, `require`.
//!
//! All of it is implemented by Deno's crates. This file configures them for directories that a
//! package manager has filled ("bring your own node_modules").

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deno_core::url::Url;
use deno_error::JsErrorBox;
use deno_resolver::npm::{
    ByonmNpmResolver, ByonmNpmResolverCreateOptions, CreateInNpmPkgCheckerOptions,
    DenoInNpmPackageChecker,
};
use node_resolver::cache::NodeResolutionSys;
use node_resolver::{
    DenoIsBuiltInNodeModuleChecker, NodeResolutionKind, NodeResolver, NodeResolverOptions,
    NodeResolverSys, NpmPackageFolderResolver, PackageJsonResolver, PackageJsonResolverRc,
    ResolutionMode,
};

use super::cache_entry::{Kept, Prepared};
use super::find::Packages;
use super::guard::ReadGuard;
use super::sys::Sys;
use crate::transpile_cache::{Compiled, Kind};
use crate::verify::Verifier;
use haft_tool::Debugging;

pub(crate) type NpmChecker = DenoInNpmPackageChecker;
pub(crate) type NpmFolders = ByonmNpmResolver<Sys>;
pub(super) type Resolver =
    NodeResolver<NpmChecker, DenoIsBuiltInNodeModuleChecker, NpmFolders, Sys>;

/// Services of one isolate for Node's resolution.
pub(crate) struct NodeServices {
    pub(super) checker: NpmChecker,
    pub(super) folders: NpmFolders,
    pub(super) resolver: deno_runtime::deno_fs::sync::MaybeArc<Resolver>,
    pub(super) manifests: PackageJsonResolverRc<Sys>,
    /// Cache of files that were compiled in earlier processes.
    pub(super) compiled: Option<Arc<Compiled>>,
    /// Checks which files may be loaded.
    pub(crate) guard: ReadGuard,
    sys: Sys,
    debugging: Debugging,
    pub(super) required_source_maps: Rc<RefCell<HashMap<String, Vec<u8>>>>,
}

impl NodeServices {
    /// Creates the services. `compiled` is the cache of large files; `verifier` checks the files of
    /// a project.
    pub(crate) fn new(compiled: Option<Arc<Compiled>>, verifier: Option<Arc<Verifier>>) -> Self {
        let debugging = Debugging::default();
        NodeServices::guarded(compiled, verifier, ReadGuard::default(), debugging)
    }

    /// Creates the services of an isolate with a guard that limits the files that may be loaded.
    pub(crate) fn guarded(
        compiled: Option<Arc<Compiled>>,
        verifier: Option<Arc<Verifier>>,
        guard: ReadGuard,
        debugging: Debugging,
    ) -> Self {
        let sys = Sys::new(verifier);
        let cached_sys = NodeResolutionSys::new(sys.clone(), None);
        let manifests =
            deno_runtime::deno_fs::sync::new_rc(PackageJsonResolver::new(sys.clone(), None));
        let checker = NpmChecker::new(CreateInNpmPkgCheckerOptions::Byonm);
        let folders = NpmFolders::new(ByonmNpmResolverCreateOptions {
            root_node_modules_dir: None,
            search_stop_dir: None,
            sys: cached_sys.clone(),
            pkg_json_resolver: manifests.clone(),
        });
        let resolver = deno_runtime::deno_fs::sync::new_rc(NodeResolver::new(
            checker.clone(),
            DenoIsBuiltInNodeModuleChecker,
            folders.clone(),
            manifests.clone(),
            cached_sys,
            NodeResolverOptions::default(),
        ));
        NodeServices {
            checker,
            folders,
            resolver,
            manifests,
            compiled,
            guard,
            sys,
            debugging,
            required_source_maps: Rc::default(),
        }
    }

    /// Returns the disk as modules of the isolate see it.
    pub(super) fn sys(&self) -> Sys {
        self.sys.clone()
    }

    pub(crate) fn shared_verifier(&self) -> Option<Arc<Verifier>> {
        self.sys.verifier.clone()
    }

    /// Returns the verifier of loaded files; `None` if the modules are the user's own.
    pub(super) fn verifier(&self) -> Option<&Verifier> {
        self.sys.verifier.as_deref()
    }

    /// Returns true if the nearest `package.json` means CommonJS. Without a `type`, that is true in
    /// `node_modules` only, as in Node; a tool without a `package.json` is an ES module.
    pub(super) fn is_commonjs_package(&self, path: &Path) -> bool {
        let in_package = path
            .components()
            .any(|part| part.as_os_str() == "node_modules");
        match self.manifests.get_closest_package_json(path) {
            Ok(Some(manifest)) => {
                manifest.typ == "commonjs" || (in_package && manifest.typ != "module")
            }
            _ => in_package,
        }
    }

    /// Returns true if the nearest `package.json` has `"type": "module"`.
    pub(super) fn is_in_module_package(&self, url: &Url) -> bool {
        let path = url.to_file_path().ok();
        let manifest = path.and_then(|path| self.manifests.get_closest_package_json(&path).ok());
        manifest
            .flatten()
            .is_some_and(|manifest| manifest.typ == "module")
    }

    /// Returns the cache entry for a text with `length` bytes, unless the text is too small.
    pub(super) fn place<const N: usize>(
        &self,
        kind: Kind,
        length: usize,
        parts: impl FnOnce() -> [Vec<u8>; N],
    ) -> Option<Kept> {
        Kept::place(self.compiled.as_ref(), length, kind, parts)
    }

    /// Changes the code of a file for debuggers: adds its source map, and a pause if the file is
    /// the one to break in.
    pub(super) fn make_debuggable(&self, path: &Path, prepared: &mut Prepared) {
        let Prepared {
            code, source_map, ..
        } = prepared;
        if self.debugging.breaks_in.as_deref() == Some(path) {
            let directive = ["\"use strict\";", "'use strict';"]
                .into_iter()
                .find(|directive| code.starts_with(directive));
            if code.starts_with("#!") {
                code.replace_range(..2, "debugger; //");
            } else {
                // On the same line, so that no place below it changes.
                code.insert_str(directive.map_or(0, str::len), "debugger; ");
            }
        }
        if let Some(map) = source_map
            .as_deref()
            .filter(|_| self.debugging.is_inspected)
        {
            code.push_str("\n//# sourceMappingURL=data:application/json;base64,");
            BASE64_STANDARD.encode_string(map, code);
            code.push('\n');
        }
    }

    pub(super) fn source_map(&self, file_name: &str) -> Option<Vec<u8>> {
        self.required_source_maps.borrow().get(file_name).cloned()
    }
}

impl Packages for NodeServices {
    fn resolve_import(&self, specifier: &str, referrer: &Url) -> Result<Url, JsErrorBox> {
        resolve(&self.resolver, specifier, referrer, ResolutionMode::Import)
    }
}

/// Resolves a specifier as Node does.
pub(crate) fn resolve<F: NpmPackageFolderResolver, S: NodeResolverSys>(
    resolver: &NodeResolver<NpmChecker, DenoIsBuiltInNodeModuleChecker, F, S>,
    specifier: &str,
    referrer: &Url,
    mode: ResolutionMode,
) -> Result<Url, JsErrorBox> {
    resolver
        .resolve(specifier, referrer, mode, NodeResolutionKind::Execution)
        .map_err(|error| JsErrorBox::generic(error.to_string()))?
        .into_url()
        .map_err(|error| JsErrorBox::generic(error.to_string()))
}
