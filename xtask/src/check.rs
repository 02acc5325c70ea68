//! `cargo xtask check`: the fast checks before a commit: format, words, links, lints, types, dependencies.

use std::process::Command;

use clap::Args;

use crate::error::Result;
use crate::{command, links, prerequisites, prose, supply, workspace};

/// Check the format, the words of comments and documents, links, the lints (warnings are errors), the types of the JS half, and the dependencies.
#[derive(Args)]
pub struct Check {}

impl Check {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let mut format = command::cargo(&root);
        format.args(["fmt", "--all", "--check"]);
        command::run(&mut format)?;

        prose::check(&root)?;
        links::check(&root)?;

        prerequisites::for_a_build()?;
        let mut types = Command::new("npm");
        types.current_dir(&root).args(["run", "--silent", "check"]);
        command::run(&mut types)?;
        // The third is the library as other programs embed it.
        let [product, tasks] = workspace::SELECTIONS;
        for (packages, parts) in [
            (product, ["--all-targets"].as_slice()),
            (tasks, &["--all-targets"]),
            (product, &["--lib", "--no-default-features"]),
        ] {
            let mut lints = command::cargo(&root);
            lints.arg("clippy").args(packages).args(parts);
            command::run(lints.args(["--", "-D", "warnings"]))?;
        }
        let mut documentation = command::cargo(&root);
        documentation.args(["doc", "--no-deps", "--package", "haft"]);
        documentation.env("RUSTDOCFLAGS", "-D warnings");
        command::run(&mut documentation)?;
        supply::check(&root)
    }
}
