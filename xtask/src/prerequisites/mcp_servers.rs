//! MCP servers by other authors, which the tests put behind haft.
//!
//! They are npm and Python packages in the user's cache, so that all checkouts share them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::error::Result;
use crate::files;
use crate::python_environment;
use crate::workspace;

/// Folder with the pinned packages, in the formats of npm and pip.
const PINNED: &str = "tests/judges/mcp_servers";

pub fn ensure(root: &Path) -> Result<()> {
    let pinned = root.join(PINNED);
    // The tests look for them there.
    let folder = workspace::user_cache()?.join("haft-judges/mcp-servers");
    let python = folder.join("python");
    files::make_folder(&python)?;
    python_environment::ensure(&python, &pinned.join("requirements.txt"))?;
    npm(&folder, &pinned.join("package.json"))
}

fn npm(folder: &Path, list: &Path) -> Result<()> {
    let pinned = files::read(list)?;
    let write = |name: &str| {
        let path = folder.join(name);
        files::write(&path, &pinned)
    };
    // Written last, so that an incomplete installation is not used.
    let done = "haft-done";
    if fs::read_to_string(folder.join(done)).is_ok_and(|installed| installed == pinned) {
        return Ok(());
    }
    write("package.json")?;
    let mut npm = Command::new("npm");
    npm.current_dir(folder)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
    command::run(&mut npm)?;
    write(done)
}
