//! `haft agents`: registers haft with coding agents.

mod config;
mod list;

use clap::Subcommand;

use super::exit::Failure;
use super::flags::{Globals, With};
use crate::surface::stdout::Out;

/// Add haft to coding agents
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  haft agents config claude-code            what to add to its configuration
  haft agents config claude-code --write    add it
  haft agents list                          which agents know haft

Agents: claude-code, codex, cursor, vscode, opencode, gemini")]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Config(Box<With<config::Args>>),
    List(Box<With<list::Args>>),
}

impl Args {
    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        match &self.verb {
            Verb::Config(c) => c.args.run(globals, out),
            Verb::List(c) => c.args.run(globals, out),
        }
    }
}
