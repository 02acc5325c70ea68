//! The peers: npm's `bun` and `express`, with the zod that haft bundles and the components of pi, in a
//! folder of their own in cargo's target.
//!
//! They are not among the checkout's node modules, because nothing that ships needs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command;
use crate::error::{Error, Result};
use crate::files;

const BUN: &str = "1.4.5";
/// The components with which tools of pi render.
const PI_TUI: &str = "0.73.1";
const EXPRESS: &str = "5.3.0";
const NODE: &str = "22";
const MCP_SDK: &str = "1.32.2";
const FASTMCP: &str = "fastmcp==4.1.2";

pub struct Peer {
    pub bun: PathBuf,
    pub node: PathBuf,
    pub python: PathBuf,
    pub zod: String,
    pub express: &'static str,
    /// Folder in which the peer's script finds zod.
    pub modules: PathBuf,
}

pub fn install(root: &Path, folder: &Path) -> Result<Peer> {
    let zod = bundled_zod(root)?;
    let manifest = serde_json::json!({
        "private": true,
        "dependencies": {
            "express": EXPRESS,
            "bun": BUN,
            "node": NODE,
            "zod": zod,
            "@modelcontextprotocol/sdk": MCP_SDK,
            "@mariozechner/pi-tui": PI_TUI,
        },
        // Its script installs the program for this system.
        "allowScripts": { "bun": true, "node": true },
    })
    .to_string();
    let written = folder.join("package.json");
    let modules = folder.join("node_modules");
    let bun = modules.join(".bin/bun");
    let python = folder.join("venv/bin/python");
    if !bun.exists() || fs::read_to_string(&written).ok().as_ref() != Some(&manifest) {
        files::write(&written, &manifest)?;
        let mut npm = Command::new("npm");
        npm.current_dir(folder)
            .args(["install", "--no-audit", "--no-fund"]);
        command::run(&mut npm)?;
    }
    if !python.exists() {
        let mut venv = Command::new("python3");
        command::run(venv.current_dir(folder).args(["-m", "venv", "venv"]))?;
        let mut pip = Command::new(&python);
        command::run(pip.args(["-m", "pip", "install", "--quiet", FASTMCP]))?;
    }
    Ok(Peer {
        node: modules.join(".bin/node"),
        bun,
        python,
        zod,
        express: EXPRESS,
        modules,
    })
}

/// The version of zod in the checkout's lock file, so that both sides validate with the same code.
fn bundled_zod(root: &Path) -> Result<String> {
    let path = root.join("package-lock.json");
    let text = files::read(&path)?;
    let lock: Value = serde_json::from_str(&text).unwrap_or_default();
    lock["packages"]["node_modules/zod"]["version"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| Error::unexpected(format!("`{}` pins no zod", path.display())))
}
