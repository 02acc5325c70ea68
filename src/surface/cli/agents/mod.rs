//! `haft agents`: registers haft with coding agents.

mod config;
mod list;

use clap::Subcommand;

use super::exit::{Answer, Failure};
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
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Config(Box<With<config::Args>>),
    List(Box<With<list::Args>>),
}

impl Args {
    /// Returns the global arguments that were typed after `agents`.
    pub(super) fn globals(&self) -> Globals {
        let later = match &self.verb {
            Verb::Config(c) => &c.globals,
            Verb::List(c) => &c.globals,
        };
        self.globals.clone().followed_by(later)
    }

    /// Returns the format in which standard output reports a failure.
    pub(super) fn answer(&self) -> Answer {
        match &self.verb {
            Verb::Config(_) => Answer::Text,
            Verb::List(c) => Answer::json_if(c.args.json),
        }
    }

    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        match &self.verb {
            Verb::Config(c) => c.args.run(globals, out),
            Verb::List(c) => c.args.run(globals, out),
        }
    }
}
