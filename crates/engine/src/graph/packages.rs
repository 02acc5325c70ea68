//! Node's resolution on a recorded disk: packages, manifests, and the files that `require` means.

use std::path::{Path, PathBuf};

use deno_error::JsErrorBox;
use deno_resolver::npm::{
    ByonmNpmResolver, ByonmNpmResolverCreateOptions, CreateInNpmPkgCheckerOptions,
};
use deno_runtime::deno_fs::sync::new_rc;
use deno_runtime::deno_node::PathClean;
use node_resolver::cache::NodeResolutionSys;
use node_resolver::{
    DenoIsBuiltInNodeModuleChecker, NodeResolver, NodeResolverOptions, PackageJsonResolver,
    PackageJsonResolverRc, ResolutionMode,
};
use sys_traits::{FsMetadata, FsRead};
use url::Url;

use super::watched::Watched;
use crate::loader::{self, NpmChecker};

type Resolver =
    NodeResolver<NpmChecker, DenoIsBuiltInNodeModuleChecker, ByonmNpmResolver<Watched>, Watched>;

/// Node's resolver and its manifests.
pub(super) struct Packages {
    resolver: Resolver,
    manifests: PackageJsonResolverRc<Watched>,
}

impl Packages {
    pub(super) fn on(disk: Watched) -> Self {
        let sys = NodeResolutionSys::new(disk.clone(), None);
        let manifests = new_rc(PackageJsonResolver::new(disk, None));
        let folders = ByonmNpmResolver::new(ByonmNpmResolverCreateOptions {
            root_node_modules_dir: None,
            search_stop_dir: None,
            sys: sys.clone(),
            pkg_json_resolver: manifests.clone(),
        });
        let resolver = NodeResolver::new(
            NpmChecker::new(CreateInNpmPkgCheckerOptions::Byonm),
            DenoIsBuiltInNodeModuleChecker,
            folders,
            manifests.clone(),
            sys,
            NodeResolverOptions::default(),
        );
        Packages {
            resolver,
            manifests,
        }
    }

    /// Returns the manifest that determines the file's kind of module, unless it is broken. The
    /// access is recorded in any case.
    pub(super) fn closest_manifest(&self, path: &Path) -> Option<PathBuf> {
        let found = self.manifests.get_closest_package_json(path);
        found.ok().flatten().map(|manifest| manifest.path.clone())
    }

    pub(super) fn resolve_require(
        &self,
        specifier: &str,
        referrer: &Url,
    ) -> Result<Url, JsErrorBox> {
        loader::resolve_in_node(&self.resolver, specifier, referrer, ResolutionMode::Require)
    }
}

impl loader::Packages for Packages {
    fn resolve_import(&self, specifier: &str, referrer: &Url) -> Result<Url, JsErrorBox> {
        loader::resolve_in_node(&self.resolver, specifier, referrer, ResolutionMode::Import)
    }
}

/// Extensions that Node's `require` tries after a path, in its order.
const EXTENSIONS: &[&str] = &[
    "js", "json", "node", "cjs", "mjs", "wasm", "ts", "cts", "mts",
];

/// Returns the file that `require` of a path means, as Node finds it.
pub(super) fn required_file(disk: &Watched, specifier: &str, from: &Path) -> Option<PathBuf> {
    let path = from.parent()?.join(specifier).clean();
    let wants_folder = specifier.ends_with('/') || specifier.ends_with("/.") || specifier == ".";
    if !wants_folder {
        let file = disk.fs_is_file_no_err(&path).then(|| path.clone());
        if let Some(file) = file.or_else(|| with_extension(disk, &path)) {
            return Some(file);
        }
    }
    if !disk.fs_is_dir_no_err(&path) {
        return None;
    }
    main_of(disk, &path).or_else(|| with_extension(disk, &path.join("index")))
}

fn main_of(disk: &Watched, folder: &Path) -> Option<PathBuf> {
    let text = disk
        .fs_read_to_string_lossy(folder.join("package.json"))
        .ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
    let main = folder.join(manifest.get("main")?.as_str()?).clean();
    if disk.fs_is_file_no_err(&main) {
        return Some(main);
    }
    with_extension(disk, &main).or_else(|| with_extension(disk, &main.join("index")))
}

fn with_extension(disk: &Watched, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_owned();
    let longer = EXTENSIONS.iter().map(|extension| {
        let mut longer = name.clone();
        longer.push(".");
        longer.push(extension);
        path.with_file_name(longer)
    });
    let mut longer = longer;
    longer.find(|candidate| disk.fs_is_file_no_err(candidate))
}
