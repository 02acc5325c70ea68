//! The packages that haft itself provides to tools, unless one is installed above the tool.

use std::path::Path;

use super::files::Disk;

mod generated {
    pub use crate::engine::snapshot::HOST_PACKAGES;
}

/// The module that stands for `specifier`, if haft provides it.
pub(super) fn provided(specifier: &str) -> Option<&'static str> {
    let table = generated::HOST_PACKAGES;
    let found = table
        .binary_search_by(|(name, _)| (*name).cmp(specifier))
        .ok()?;
    Some(table[found].1)
}

/// True for the name of a Node builtin and of a package of which haft provides at least a part.
pub(crate) fn is_provided(package: &str) -> bool {
    let table = generated::HOST_PACKAGES;
    package == "bun"
        || deno_runtime::deno_node::is_builtin_node_module(package)
        || table.iter().any(|(name, _)| package_name(name) == package)
}

/// True if a `node_modules` at or above the importing file holds the package of `specifier`.
pub(super) fn installed_above(disk: &impl Disk, specifier: &str, from: &Path) -> bool {
    let package = package_name(specifier);
    from.ancestors().skip(1).any(|directory| {
        !directory.ends_with("node_modules")
            && disk.fs_is_dir_no_err(directory.join("node_modules").join(package))
    })
}

/// `@scope/name/sub/path` → `@scope/name`, `name/sub` → `name`.
fn package_name(specifier: &str) -> &str {
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    match specifier.match_indices('/').nth(slashes - 1) {
        Some((at, _)) => &specifier[..at],
        None => specifier,
    }
}
