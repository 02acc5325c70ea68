//! The judges: npm packages on a Node of their own, and Python packages, in a folder in cargo's target.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{During, Result};

/// The suite needs Node 22 or later, which not every system has.
const PACKAGES: [(&str, &str); 5] = [
    ("node", "22"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    // The client of the older era, and the one of both.
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/client", "2.4.0"),
];
const PYTHON: [&str; 2] = ["mcp==2.3.0", "fastmcp==4.1.2"];

pub struct Judges {
    folder: PathBuf,
}

impl Judges {
    pub fn install(folder: &Path) -> Result<Judges> {
        let dependencies: serde_json::Map<_, _> = PACKAGES
            .iter()
            .map(|(name, version)| ((*name).to_owned(), (*version).into()))
            .collect();
        let manifest = serde_json::json!({
            "private": true,
            "type": "module",
            "dependencies": dependencies,
            "allowScripts": { "node": true },
            // Kept here to see when they change.
            "python": PYTHON,
        });
        let manifest = manifest.to_string();
        let written = folder.join("package.json");
        let judges = Judges {
            folder: folder.to_owned(),
        };
        if fs::read_to_string(folder.join("installed")).ok().as_ref() == Some(&manifest) {
            return Ok(judges);
        }
        fs::create_dir_all(folder).during(|| format!("make `{}`", folder.display()))?;
        fs::write(&written, &manifest).during(|| format!("write `{}`", written.display()))?;
        let mut npm = Command::new("npm");
        npm.current_dir(folder)
            .args(["install", "--no-audit", "--no-fund"]);
        command::run(&mut npm)?;
        command::run(
            Command::new("python3")
                .args(["-m", "venv", "venv"])
                .current_dir(folder),
        )?;
        command::run(
            Command::new(folder.join("venv/bin/pip"))
                .args(["install", "--quiet"])
                .args(PYTHON),
        )?;
        let done = folder.join("installed");
        fs::write(&done, manifest).during(|| format!("write `{}`", done.display()))?;
        Ok(judges)
    }

    /// A program of a package.
    pub fn node(&self, path: &str) -> Command {
        let mut node = Command::new(self.modules().join(".bin/node"));
        node.arg(self.modules().join(path));
        node
    }

    /// The inspector without its window. It starts programs by the name `node`.
    pub fn inspector(&self) -> Command {
        let mut inspector = Command::new(self.modules().join(".bin/mcp-inspector"));
        let path = std::env::var("PATH").unwrap_or_default();
        let own = self.modules().join(".bin");
        inspector.env("PATH", format!("{}:{path}", own.display()));
        inspector.arg("--cli");
        inspector
    }

    /// A script of ours that finds the packages in the folder that it is started in.
    pub fn script(&self, path: &Path) -> Command {
        let mut node = Command::new(self.modules().join(".bin/node"));
        node.arg(path).env("PACKAGES", self.modules());
        node
    }

    /// The same for Python.
    pub fn python(&self, path: &Path) -> Command {
        let mut python = Command::new(self.folder.join("venv/bin/python"));
        python.arg(path);
        python
    }

    fn modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }
}
