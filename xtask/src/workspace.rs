//! Paths and pins of the workspace: the checkout, cargo's home, the build directory, `Cargo.lock`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{During, Error, Result};
use crate::files;

/// Arguments that select all packages in two runs of cargo. In one run, the features that `xtask` asks
/// for would be added to those of the product, and Deno's crates would be compiled once more with them.
pub const SELECTIONS: [&[&str]; 2] = [
    &["--workspace", "--exclude", "xtask"],
    &["--package", "xtask"],
];

/// Returns the root of the checkout.
pub fn root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest
        .parent()
        .expect("this package is a folder of the workspace")
        .to_path_buf()
}

pub fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = env::var_os("CARGO_HOME") {
        return Ok(PathBuf::from(home));
    }
    let home = env::home_dir().ok_or_else(|| Error::Missing {
        what: "there is no home directory to find cargo's cache in".into(),
        hint: "set CARGO_HOME".into(),
    })?;
    Ok(home.join(".cargo"))
}

/// Returns the user's cache directory.
pub fn user_cache() -> Result<PathBuf> {
    let given = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    given
        .or(home)
        .ok_or_else(|| Error::unexpected("there is no home directory"))
}

/// Returns cargo's build directory, as cargo itself reports it.
pub fn target_dir(root: &Path) -> Result<PathBuf> {
    let metadata = metadata(root, &["--no-deps"])?;
    match metadata["target_directory"].as_str() {
        Some(directory) => Ok(PathBuf::from(directory)),
        None => Err(Error::unexpected(
            "`cargo metadata` names no target directory",
        )),
    }
}

/// Returns the program that the user named, or else the one that `build` makes.
pub fn program(named: Option<&Path>, build: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
    match named {
        Some(path) => path
            .canonicalize()
            .during(|| format!("find `{}`", path.display())),
        None => build(),
    }
}

/// Returns the version of a package that `Cargo.lock` pins.
pub fn locked_version(root: &Path, package: &str) -> Result<String> {
    locked_field(root, package, "version")
}

/// Returns the SHA-256 of a package's crate file that `Cargo.lock` pins.
pub fn locked_checksum(root: &Path, package: &str) -> Result<String> {
    locked_field(root, package, "checksum")
}

fn locked_field(root: &Path, package: &str, field: &str) -> Result<String> {
    let path = root.join("Cargo.lock");
    let text = files::read(&path)?;
    field_in(&text, package, field).ok_or_else(|| {
        Error::unexpected(format!(
            "`{}` pins no {field} of `{package}`",
            path.display()
        ))
    })
}

/// Returns cargo's metadata of the packages.
pub fn metadata(directory: &Path, more: &[&str]) -> Result<serde_json::Value> {
    let mut cargo = command::cargo(directory);
    cargo.args(["metadata", "--format-version", "1"]).args(more);
    let text = command::output(&mut cargo)?;
    serde_json::from_str(&text)
        .map_err(|error| Error::unexpected(format!("`cargo metadata` is not JSON: {error}")))
}

/// Returns the target that the compiler builds for by default.
pub fn host_target() -> Result<String> {
    let said = command::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Error::unexpected("`rustc -vV` names no host"))
}

/// Returns a field of `[workspace.package]`.
pub fn package_field(root: &Path, name: &str) -> Result<String> {
    let manifest: toml::Table = files::read(&root.join("Cargo.toml"))?
        .parse()
        .map_err(|error| Error::unexpected(format!("`Cargo.toml`: {error}")))?;
    let value = manifest["workspace"]["package"].get(name);
    value
        .and_then(toml::Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| Error::unexpected(format!("`[workspace.package]` has no `{name}`")))
}

fn field_in(lock: &str, package: &str, field: &str) -> Option<String> {
    let lock: toml::Table = lock.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let entry = packages
        .iter()
        .find(|entry| entry.get("name").and_then(toml::Value::as_str) == Some(package))?;
    Some(entry.get(field)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_says_which_version_is_used() {
        let lock = "version = 4\n\n[[package]]\nname = \"v8_utils\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"v8\"\nversion = \"9.8.7\"\n";
        assert_eq!(field_in(lock, "v8", "version").as_deref(), Some("9.8.7"));
        assert_eq!(field_in(lock, "v9", "version"), None);
    }

    #[test]
    fn the_real_lock_file_pins_v8() {
        let version = locked_version(&root(), "v8").expect("this workspace uses V8");
        assert_eq!(version.split('.').count(), 3);
    }
}
