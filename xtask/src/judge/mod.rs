//! `cargo xtask judge`: lets others judge the MCP server: its conformance suite and its clients.
//!
//! What they call are tools of ours in `tests/specs/mcp`, so that the whole way through V8 is
//! judged. What a server of tools cannot pass is listed there with the reason; whatever else fails
//! is a failure, and so is what is listed and passes.

mod judges;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::error::{During, Error, Result};
use crate::{command, prerequisites, workspace};
use judges::Judges;
use server::Server;

/// The revisions that the suite judges.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Scenarios of the tasks extension, which no revision requires. `docs/mcp.md` names those that fail.
const TASKS: [&str; 6] = [
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
];

/// Let the conformance suite and other people's clients judge the MCP server.
#[derive(Args)]
pub struct Judge {
    /// Judge this program instead of a debug build of the checkout.
    #[arg(long, value_name = "PATH")]
    haft: Option<PathBuf>,

    /// Only the judges whose names contain this; may be repeated.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
}

/// One verdict to get: its name, and the command that fails if it is bad.
struct Case {
    name: String,
    command: Command,
}

impl Judge {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let target = workspace::target_dir(&root)?;
        let haft = workspace::program(self.haft.as_deref(), || build(&root, &target))?;
        let judges = Judges::install(&target.join("judges"))?;
        let specs = root.join("tests/specs/mcp");
        let home = tempfile::tempdir().during(|| "make a home directory".to_owned())?;
        let server = Server::start(&haft, &specs.join("conformance.ts"), home.path())?;
        let mut failed = Vec::new();
        for mut case in cases(&judges, &server, &haft, &specs, home.path()) {
            if !self.only.is_empty() && !self.only.iter().any(|word| case.name.contains(word)) {
                continue;
            }
            eprintln!("\n== {}", case.name);
            command::show(&case.command);
            if !command::status(&mut case.command)?.success() {
                failed.push(case.name);
            }
        }
        if failed.is_empty() {
            eprintln!("\nevery judge is content");
            return Ok(());
        }
        Err(Error::unexpected(format!(
            "these judges are not content: {}",
            failed.join(", ")
        )))
    }
}

fn cases(judges: &Judges, server: &Server, haft: &Path, specs: &Path, home: &Path) -> Vec<Case> {
    let url = server.url();
    let tools = specs.join("conformance.ts");
    let mut cases = Vec::new();
    for revision in REVISIONS {
        let mut suite = judges.node("@modelcontextprotocol/conformance/dist/index.js");
        suite.args(["server", "--url", &url, "--requirements", revision]);
        suite.arg("--expected-failures");
        suite.arg(specs.join(format!("not-served-{revision}.yaml")));
        cases.push(Case {
            name: format!("conformance {revision}"),
            command: suite,
        });
    }
    for scenario in TASKS {
        let mut suite = judges.node("@modelcontextprotocol/conformance/dist/index.js");
        suite.args(["server", "--url", &url, "--scenario", scenario]);
        cases.push(Case {
            name: format!("conformance {scenario}"),
            command: suite,
        });
    }
    for (name, arguments) in [
        ("inspector list", ["--method", "tools/list"].as_slice()),
        (
            "inspector call",
            &["--method", "tools/call", "--tool-name", "test_simple_text"],
        ),
    ] {
        let mut over_http = judges.inspector();
        over_http.args([url.as_str(), "--transport", "http"]);
        over_http.args(arguments);
        let mut over_stdio = judges.inspector();
        over_stdio
            .arg(haft)
            .arg("--tool")
            .arg(&tools)
            .args(["serve", "mcp"]);
        over_stdio.args(arguments);
        for (transport, command) in [("http", over_http), ("stdio", over_stdio)] {
            cases.push(Case {
                name: format!("{name}, {transport}"),
                command,
            });
        }
    }
    // Each of these connects over both transports.
    for (name, mut command) in [
        (
            "typescript clients",
            judges.script(&specs.join("clients.mjs")),
        ),
        ("python clients", judges.python(&specs.join("clients.py"))),
        ("coding agents", judges.script(&specs.join("agents.mjs"))),
    ] {
        command
            .env("HAFT", haft)
            .env("TOOLS", &tools)
            .env("URL", &url);
        cases.push(Case {
            name: name.to_owned(),
            command,
        });
    }
    for case in &mut cases {
        case.command.env("HOME", home);
    }
    cases
}

fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    prerequisites::for_a_build()?;
    command::run(command::cargo(root).args(["build", "--package", "haft"]))?;
    let name = format!("haft{}", std::env::consts::EXE_SUFFIX);
    Ok(target.join("debug").join(name))
}
