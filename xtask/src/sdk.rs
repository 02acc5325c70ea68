//! `cargo xtask sdk`: builds and tests the libraries for programs in other languages.
//!
//! The packages that the tests need are kept in the build directory, so that a fresh checkout does
//! not install them again.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::error::Result;
use crate::python_environment;
use crate::{command, prerequisites, programs, workspace};

/// Build and test the library for another language with a real haft.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask sdk typescript                              what CI runs
  cargo xtask sdk typescript --long                       coding agents, runtimes and 10,000 calls too
  cargo xtask sdk typescript --haft target/release/haft
  cargo xtask sdk python --long                           10,000 calls too")]
pub struct Sdk {
    /// The library.
    #[arg(value_enum)]
    language: Language,

    /// Test with this program instead of a debug build of the checkout.
    #[arg(long, value_name = "PATH")]
    haft: Option<PathBuf>,

    /// Run the tests that take longer than a minute or need large packages, too.
    #[arg(long)]
    long: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// The npm package in `sdk/typescript`.
    Typescript,
    /// The PyPI package in `sdk/python`.
    Python,
}

impl Sdk {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let target = workspace::target_dir(&root)?;
        prerequisites::for_a_build()?;
        let build = || programs::build_haft(false);
        let haft = workspace::program(self.haft.as_deref(), build)?;
        match self.language {
            Language::Typescript => typescript(&root, &target, &haft, self.long),
            Language::Python => python(&root, &target, &haft, self.long),
        }
    }
}

/// Builds the npm package, checks its types and its published files, and runs its tests.
fn typescript(root: &Path, target: &Path, haft: &Path, is_long: bool) -> Result<()> {
    let folder = root.join("sdk/typescript");
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(&folder).env("HAFT_BINARY", haft);
        command::run(command.args(args))
    };
    let cache = target.join("sdk");
    let install = |tests: &str| {
        let cache = cache.to_string_lossy();
        run("node", &["test/install.mjs", tests, &cache])
    };
    run("npm", &["run", "--silent", "build"])?;
    install("test/frameworks")?;
    run("npm", &["run", "--silent", "check"])?;
    run("npm", &["test", "--silent"])?;
    if is_long {
        install("test/agents")?;
        run("npm", &["run", "--silent", "test:long"])?;
    }
    Ok(())
}

/// Checks the format, the lints and the types of the PyPI package, and runs its tests.
fn python(root: &Path, target: &Path, haft: &Path, is_long: bool) -> Result<()> {
    let folder = root.join("sdk/python");
    let lock = folder.join("tests/requirements.lock");
    let programs = python_environment::ensure(&target.join("sdk/python"), &lock)?.join("bin");
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(programs.join(program));
        command.current_dir(&folder).env("HAFT_BINARY", haft);
        command::run(command.args(args))
    };
    run("ruff", &["format", "--check", "--quiet", "."])?;
    run("ruff", &["check", "--quiet", "."])?;
    let interpreter = programs.join("python");
    let interpreter = interpreter.to_string_lossy();
    run("pyright", &["--pythonpath", &interpreter])?;
    run("pytest", &["--quiet"])?;
    if is_long {
        run("pytest", &["--quiet", "-m", "slow"])?;
    }
    Ok(())
}
