//! `cargo xtask test`: every test of the repository, in Rust and in JavaScript.
//!
//! Both halves run even if the first fails, and their own summaries stay the last output. With
//! `--isolation`, the tests of JavaScript tools run with worker processes instead.

use std::process::Command;

use clap::Args;

use crate::error::{Error, Result};
use crate::{command, prerequisites, workspace};

/// Run every test: `cargo test` for the workspace, then `npm test` for the JS half.
#[derive(Args)]
pub struct Test {
    /// Leave out the tests that take more than ten seconds; their names begin with `slow_`
    #[arg(long)]
    fast: bool,

    /// Run the tests of JavaScript tools with their modules in sandboxes
    #[arg(long)]
    sandbox: bool,

    /// Of those, run only the part that CI runs
    #[arg(long, requires = "sandbox")]
    small: bool,
}

/// Parts of the names of tests that run JavaScript tools.
const OF_MODULES: [&str; 32] = [
    "audit::",
    "cache::",
    "callers::",
    "compiled::",
    "debugging::",
    "domains::",
    "engine::",
    "holes::",
    "isolates::",
    "life::",
    "mcp_asking::",
    "mcp_log::",
    "mcp_stdio::",
    "mcp_tasks::",
    "mcp_tools::",
    "nested::",
    "permissions::",
    "reload::",
    "render::",
    "repl::",
    "rest::",
    "rest_events::",
    "rpc::",
    "sdk::",
    "session::",
    "specs_",
    "telemetry::",
    "terminal_",
    "tool_tests::",
    "ui::",
    "verified::",
    "workers::",
];

/// The part that CI runs.
const SMALL: [&str; 5] = ["engine::", "isolates::", "specs_js", "ui::", "workers::"];

impl Test {
    pub fn run(self) -> Result<()> {
        prerequisites::for_the_tests()?;
        let root = workspace::root();
        if self.sandbox {
            let mut cargo = command::cargo(&root);
            cargo.env("HAFT_TEST_ISOLATION", "sandbox");
            cargo.args(["test", "--test", "it", "--"]);
            cargo.args(if self.small {
                &SMALL[..]
            } else {
                &OF_MODULES[..]
            });
            return command::run(&mut cargo);
        }
        let mut npm = Command::new("npm");
        npm.current_dir(&root).arg("test");
        let mut commands = vec![npm];
        // The product last, so that its summary is.
        for packages in workspace::SELECTIONS.iter().rev() {
            let mut cargo = command::cargo(&root);
            cargo.arg("test").args(*packages).arg("--no-fail-fast");
            if self.fast {
                cargo.args(["--", "--skip", "slow_"]);
            }
            commands.push(cargo);
        }
        let failed: Vec<Error> = commands
            .iter_mut()
            .filter_map(|command| command::run(command).err())
            .collect();
        match failed.into_iter().reduce(both) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}

/// Reports the first failure and returns the second.
fn both(first: Error, second: Error) -> Error {
    first.report();
    second
}
