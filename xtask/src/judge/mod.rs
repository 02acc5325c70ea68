//! `cargo xtask judge`: tests the MCP server with its conformance suite, its clients, coding agents
//! and a balancer, and the manifests of the documents with the schemas of Kubernetes and Compose.
//!
//! They call our tools in `tests/specs/mcp` and `tests/judges/agents`, so that the whole way
//! through V8 is tested. Known limits of a server of tools and of the agents are listed there with
//! the reason. Any other failure fails the run, and so does a listed limit that passes.
//!
//! The conformance suite also judges haft in front of another MCP server
//! (`tests/mcp_servers/conformance.mjs`), which has everything that the suite asks for. There are no
//! known limits then.

mod judges;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::error::{During, Error, Result};
use crate::{command, programs, workspace};
use judges::Judges;
use server::Server;

/// The revisions that the suite judges.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Scenarios of the tasks extension, which no revision requires. `docs/mcp.md` names those that fail
/// with tools of our own: [`TASKS_OF_UPSTREAM`].
const TASKS: [&str; 6] = [
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
];

/// The scenarios that only a server behind haft can pass.
const TASKS_OF_UPSTREAM: [&str; 3] = [
    "tasks-lifecycle",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
];

/// Let the conformance suite, other people's clients, coding agents and a balancer judge the server.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask judge                                  every judge
  cargo xtask judge agents                           the coding agents, with a fake model API
  cargo xtask judge agents --agent codex --check 'big result'
  cargo xtask judge balancer                         two hosts behind HAProxy, which must be installed
  cargo xtask judge conformance --haft target/release/haft")]
pub struct Judge {
    /// The judges, all of them by default.
    #[arg(value_enum, value_name = "JUDGE")]
    suites: Vec<Suite>,

    /// Judge this program instead of a debug build of the checkout.
    #[arg(long, value_name = "PATH")]
    haft: Option<PathBuf>,

    /// Of the agents only this one, as `haft agents` names it; may be repeated.
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,

    /// Of what the agents are judged by only the checks whose names contain this; may be repeated.
    #[arg(long, value_name = "TEXT")]
    check: Vec<String>,
}

/// A group of judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// The conformance suite of the protocol.
    Conformance,
    /// The inspector of the protocol.
    Inspector,
    /// The official TypeScript and Python clients.
    Clients,
    /// Coding agents: what reaches their models and their users.
    Agents,
    /// HAProxy with two hosts behind it.
    Balancer,
    /// The schemas of Kubernetes and Compose, for the manifests of docs/scale.
    Manifests,
}

/// One test: its name, and the command that fails if the test does.
struct Case {
    suite: Suite,
    name: String,
    command: Command,
}

/// Paths and address that a run of the judges needs.
struct Scene<'a> {
    judges: &'a Judges,
    haft: &'a Path,
    url: String,
    /// The URL of haft in front of another MCP server.
    upstream_url: Option<String>,
    /// The folder of the tests.
    tests: PathBuf,
}

impl Judge {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let target = workspace::target_dir(&root)?;
        let haft = workspace::program(self.haft.as_deref(), || programs::build_haft(false))?;
        let suites = if self.suites.is_empty() {
            Suite::value_variants()
        } else {
            &self.suites
        };
        let judges = Judges::install(&target.join("judges"), suites)?;
        let home = tempfile::tempdir().during(|| "make a home directory".to_owned())?;
        let tests = root.join("tests");
        let server = Server::of_tools(&haft, &tests.join("specs/mcp/conformance.ts"), home.path())?;
        let upstream_home = tempfile::tempdir().during(|| "make a home directory".to_owned())?;
        let upstream = suites
            .contains(&Suite::Conformance)
            .then(|| {
                let suite = tests.join("mcp_servers/conformance.mjs");
                Server::of_upstream(&haft, &suite, upstream_home.path())
            })
            .transpose()?;
        let scene = Scene {
            judges: &judges,
            haft: &haft,
            url: server.url(),
            upstream_url: upstream.as_ref().map(Server::url),
            tests,
        };
        let mut failed = Vec::new();
        for mut case in self.cases(&scene) {
            if !suites.contains(&case.suite) {
                continue;
            }
            case.command.env("HOME", home.path());
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

    fn cases(&self, scene: &Scene<'_>) -> Vec<Case> {
        let mut cases = scene.conformance();
        cases.extend(scene.inspector());
        cases.extend(scene.scripts());
        cases.push(self.agents(scene));
        cases
    }

    /// Returns the test of the agents, whose models are played by a script.
    fn agents(&self, scene: &Scene<'_>) -> Case {
        let script = scene.tests.join("judges/agents/judge.mjs");
        let mut command = scene.judges.script(&script);
        command.arg("--haft").arg(scene.haft);
        command.arg("--packages").arg(scene.judges.agent_packages());
        for (flag, words) in [("--agent", &self.agent), ("--check", &self.check)] {
            for word in words {
                command.args([flag, word]);
            }
        }
        Case {
            suite: Suite::Agents,
            name: "coding agents, with a model".to_owned(),
            command,
        }
    }
}

impl Scene<'_> {
    fn specs(&self, file: &str) -> PathBuf {
        self.tests.join("specs/mcp").join(file)
    }

    fn conformance(&self) -> Vec<Case> {
        let case = |url: &str, name: String, arguments: &[&str]| {
            let mut command = self
                .judges
                .node("@modelcontextprotocol/conformance/dist/index.js");
            command.args(["server", "--url", url]).args(arguments);
            Case {
                suite: Suite::Conformance,
                name: format!("conformance {name}"),
                command,
            }
        };
        let revisions = REVISIONS.map(|revision| {
            let arguments = ["--requirements", revision];
            let mut case = case(&self.url, revision.to_owned(), &arguments);
            let not_served = self.specs(&format!("not-served-{revision}.yaml"));
            case.command.arg("--expected-failures").arg(not_served);
            case
        });
        let tasks = TASKS.map(|it| case(&self.url, it.to_owned(), &["--scenario", it]));
        let mut cases: Vec<Case> = revisions.into_iter().chain(tasks).collect();
        let Some(url) = &self.upstream_url else {
            return cases;
        };
        let scenarios = TASKS.into_iter().chain(TASKS_OF_UPSTREAM);
        let arguments = REVISIONS.map(|revision| ["--requirements", revision]);
        let arguments = arguments
            .into_iter()
            .chain(scenarios.map(|it| ["--scenario", it]));
        for arguments in arguments {
            let name = format!("{}, in front of a server", arguments[1]);
            cases.push(case(url, name, &arguments));
        }
        cases
    }

    fn inspector(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (name, arguments) in [
            ("inspector list", ["--method", "tools/list"].as_slice()),
            (
                "inspector call",
                &["--method", "tools/call", "--tool-name", "test_simple_text"],
            ),
        ] {
            let mut over_http = self.judges.inspector();
            over_http.args([self.url.as_str(), "--transport", "http"]);
            over_http.args(arguments);
            let mut over_stdio = self.judges.inspector();
            over_stdio
                .arg(self.haft)
                .arg("--tool")
                .arg(self.specs("conformance.ts"))
                .args(["serve", "mcp"]);
            over_stdio.args(arguments);
            for (transport, command) in [("http", over_http), ("stdio", over_stdio)] {
                cases.push(Case {
                    suite: Suite::Inspector,
                    name: format!("{name}, {transport}"),
                    command,
                });
            }
        }
        cases
    }

    /// Returns the tests of the clients over both transports.
    fn scripts(&self) -> Vec<Case> {
        let judges = self.judges;
        let case = |suite, name: &str, mut command: Command| {
            command
                .env("HAFT", self.haft)
                .env("TOOLS", self.specs("conformance.ts"))
                .env("URL", &self.url);
            Case {
                suite,
                name: name.to_owned(),
                command,
            }
        };
        let mut manifests = judges.manifests(&self.tests.join("judges/manifests.py"));
        manifests.arg(self.tests.with_file_name("docs").join("scale"));
        vec![
            case(Suite::Manifests, "the manifests of docs/scale", manifests),
            case(
                Suite::Balancer,
                "two hosts behind HAProxy",
                judges.script(&self.tests.join("judges/balancer.mjs")),
            ),
            case(
                Suite::Clients,
                "typescript clients",
                judges.script(&self.specs("clients.mjs")),
            ),
            case(
                Suite::Clients,
                "python clients",
                judges.python(&self.specs("clients.py")),
            ),
            case(
                Suite::Agents,
                "coding agents, their configuration",
                judges.script(&self.specs("agents.mjs")),
            ),
        ]
    }
}
