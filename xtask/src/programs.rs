//! Builds of haft's programs, which several tasks need.

use std::env;
use std::path::PathBuf;

use crate::error::Result;
use crate::{command, prerequisites, workspace};

/// Builds both programs of haft, and returns their folder.
pub fn build(is_release: bool) -> Result<PathBuf> {
    prerequisites::for_a_build()?;
    let root = workspace::root();
    let profile = if is_release { "release" } else { "debug" };
    let folder = workspace::target_dir(&root)?.join(profile);
    if !folder.exists() {
        eprintln!("building haft; the first time takes ten minutes, for release fifteen");
    }
    let mut cargo = command::cargo(&root);
    cargo.args(["build", "--package", "haft", "--bins"]);
    if is_release {
        cargo.arg("--release");
    }
    command::run(&mut cargo)?;
    Ok(folder)
}

/// Builds the program, and returns its path.
pub fn build_haft(is_release: bool) -> Result<PathBuf> {
    let name = format!("haft{}", env::consts::EXE_SUFFIX);
    Ok(build(is_release)?.join(name))
}
