//! `cargo xtask test`: every test of the repository, in Rust and in JavaScript.
//!
//! Both halves run even if the first fails, and their own summaries stay the last output.

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
}

impl Test {
    pub fn run(self) -> Result<()> {
        prerequisites::for_the_tests()?;
        let root = workspace::root();
        let mut npm = Command::new("npm");
        npm.current_dir(&root).arg("test");
        let mut cargo = command::cargo(&root);
        cargo.args(["test", "--workspace", "--no-fail-fast"]);
        if self.fast {
            cargo.args(["--", "--skip", "slow_"]);
        }
        let failed: Vec<Error> = [npm, cargo]
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
