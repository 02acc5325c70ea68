//! `cargo xtask`: the tasks of this repository, each one a subcommand in its own file.
//!
//! It does not link V8 or haft, so it builds in seconds on a fresh machine. Every task first
//! ensures that the machine has its prerequisites.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "chores start programs and read the environment"
)]

mod bench;
mod book;
mod cargo_tools;
mod check;
mod code_mode;
mod command;
mod demo;
mod dist;
mod error;
mod files;
mod fuzz;
mod install;
mod judge;
mod layout;
mod links;
mod machine;
mod npm_packages;
mod packages;
mod prerequisites;
mod programs;
mod prose;
mod python_environment;
mod screenshots;
mod sdk;
mod supply;
mod system_tools;
mod systems;
mod test;
mod v8;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::Result;

/// The chores of this repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    Demo(demo::Demo),
    Test(test::Test),
    Check(check::Check),
    CodeMode(code_mode::CodeMode),
    V8(v8::V8),
    Advisories(supply::advisories::Advisories),
    Notices(supply::notices::Notices),
    Bench(bench::Bench),
    Book(book::Book),
    Dist(dist::Dist),
    Fuzz(fuzz::Fuzz),
    Install(install::Install),
    Judge(judge::Judge),
    Layout(layout::Layout),
    NpmPackages(npm_packages::NpmPackages),
    Screenshots(screenshots::Screenshots),
    Sdk(sdk::Sdk),
    SystemTools(system_tools::SystemTools),
    Systems(systems::Systems),
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Demo(demo) => demo.run(),
        Chore::Test(test) => test.run(),
        Chore::Check(check) => check.run(),
        Chore::CodeMode(code_mode) => code_mode.run(),
        Chore::V8(v8) => v8.run(),
        Chore::Advisories(advisories) => advisories.run(),
        Chore::Notices(notices) => notices.run(),
        Chore::Bench(bench) => bench.run(),
        Chore::Book(book) => book.run(),
        Chore::Dist(dist) => dist.run(),
        Chore::Fuzz(fuzz) => fuzz.run(),
        Chore::Install(install) => install.run(),
        Chore::Judge(judge) => judge.run(),
        Chore::Layout(layout) => layout.run(),
        Chore::NpmPackages(packages) => packages.run(),
        Chore::Screenshots(screenshots) => screenshots.run(),
        Chore::Sdk(sdk) => sdk.run(),
        Chore::SystemTools(tools) => tools.run(),
        Chore::Systems(systems) => systems.run(),
    }
}
