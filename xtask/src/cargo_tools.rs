//! Programs from crates.io that tasks need, installed once into the user's cache.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::{command, workspace};

/// A program of crates.io in its pinned version.
pub struct CargoTool {
    pub name: &'static str,
    pub version: &'static str,
    /// Further arguments of `cargo install`.
    pub options: &'static [&'static str],
}

/// Writes the list of dependencies into programs.
pub const AUDITABLE: CargoTool = CargoTool {
    name: "cargo-auditable",
    version: "0.7.7",
    options: &[],
};

/// Makes the software bill of materials.
pub const CYCLONEDX: CargoTool = CargoTool {
    name: "cargo-cyclonedx",
    version: "0.5.9",
    options: &[],
};

/// Makes the book of `docs`. Its server and its watcher are left out.
pub const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    version: "0.5.4",
    options: &["--no-default-features", "--features", "search"],
};

impl CargoTool {
    /// Returns the folder with the program, which is installed first if it is missing.
    pub fn folder(&self) -> Result<PathBuf> {
        let CargoTool { name, version, .. } = self;
        let root = workspace::user_cache()?
            .join("haft-cargo-tools")
            .join(format!("{name}-{version}"));
        let folder = root.join("bin");
        if folder.join(name).is_file() {
            return Ok(folder);
        }
        let mut cargo = command::cargo(&workspace::root());
        cargo.args(["install", "--quiet", "--locked", "--root"]);
        cargo.arg(&root).args(self.options);
        cargo.arg(format!("{name}@{version}"));
        match command::run(&mut cargo) {
            Ok(()) => Ok(folder),
            Err(error) => {
                error.report();
                Err(Error::Missing {
                    what: format!("`{name}` could not be installed"),
                    hint: format!("run `{}`, then this again", command::display(&cargo)),
                })
            }
        }
    }
}
