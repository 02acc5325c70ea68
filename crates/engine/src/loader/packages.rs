//! Packages that haft itself provides to tools, unless one is installed above the tool.

use std::path::{Path, PathBuf};

use super::files::Disk;

mod generated {
    pub use crate::snapshot::HOST_PACKAGES;
}

/// Returns haft's module for `specifier`, if haft provides it.
pub(super) fn provided(specifier: &str) -> Option<&'static str> {
    let table = generated::HOST_PACKAGES;
    let found = table
        .binary_search_by(|(name, _)| (*name).cmp(specifier))
        .ok()?;
    Some(table[found].1)
}

/// Returns true for a Node builtin and for a package of which haft provides at least a part.
pub fn is_provided(package: &str) -> bool {
    let table = generated::HOST_PACKAGES;
    package == "bun"
        || deno_runtime::deno_node::is_builtin_node_module(package)
        || table.iter().any(|(name, _)| package_name(name) == package)
}

/// Returns true if a `node_modules` at or above the importing file contains the package.
pub(super) fn installed_above(disk: &impl Disk, specifier: &str, from: &Path) -> bool {
    folder_above(disk, specifier, from).is_some()
}

/// Returns the folder of the package in a `node_modules` at or above the importing file.
pub(super) fn folder_above(disk: &impl Disk, specifier: &str, from: &Path) -> Option<PathBuf> {
    let package = package_name(specifier);
    let directories = from.ancestors().skip(1);
    let mut folders = directories
        .filter(|directory| !directory.ends_with("node_modules"))
        .map(|directory| directory.join("node_modules").join(package));
    folders.find(|folder| disk.fs_is_dir_no_err(folder))
}

/// Returns true if installed copies of `module` may be written for Bun only, which are oh-my-pi's
/// own packages. Their code decides it. Others are not searched, which would take time.
pub(super) fn may_be_bun_only(module: &str) -> bool {
    module.starts_with("haft:pi-")
}

/// Returns true if an installed copy of `module` is never used, because it would connect to the agent
/// that extensions are written for.
pub(super) fn replaces_installed(module: &str) -> bool {
    module == "haft:copilot-sdk"
}

/// Returns true if haft's module takes the place of a file that `tsconfig.json` maps its name to.
pub(super) fn replaces_mapped(module: &str) -> bool {
    may_be_bun_only(module) || replaces_installed(module)
}

/// Returns `sub/path` for `@scope/name/sub/path`, and an empty text for `name`.
pub(super) fn subpath(specifier: &str) -> &str {
    specifier[package_name(specifier).len()..].trim_start_matches('/')
}

/// Returns `@scope/name` for `@scope/name/sub/path`, and `name` for `name/sub`.
fn package_name(specifier: &str) -> &str {
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    match specifier.match_indices('/').nth(slashes - 1) {
        Some((at, _)) => &specifier[..at],
        None => specifier,
    }
}
