//! `cargo xtask fuzz`: hostile values in every construct of bash, with a canary that must not run.
//!
//! Constructs are written down, and composed of a way to a text and a place that reads it. The test
//! suite does the same with a fixed seed and fewer values.

use clap::Args;

use crate::error::Result;
use crate::{command, prerequisites, workspace};

/// Put hostile values into every construct of bash, and check that none of them runs.
#[derive(Args)]
pub struct Fuzz {
    /// Number of values
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    values: u32,
    /// Number that the values depend on
    #[arg(long, value_name = "N", default_value_t = 17)]
    seed: u32,
}

impl Fuzz {
    pub fn run(self) -> Result<()> {
        prerequisites::for_the_tests()?;
        let mut cargo = command::cargo(&workspace::root());
        cargo.args(["test", "--package", "haft-shell-quote", "--"]);
        cargo.args(["attack::", "compose::"]);
        cargo.env("HAFT_SHELL_ATTACKS", self.values.to_string());
        cargo.env("HAFT_SHELL_SEED", self.seed.to_string());
        command::run(&mut cargo)
    }
}
