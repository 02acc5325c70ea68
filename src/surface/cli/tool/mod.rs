//! `haft tool`: the commands of CYCOD's specification for YAML shell tools (spec cycod R, S, T).
//!
//! The commands use `tool_files` for files and the host for running tools. The help texts are those
//! of the specification and are in the folder `help`.

mod scope;

mod add;
mod add_draft;
mod add_words;
mod edit;
mod export;
mod get;
mod import;
mod list;
mod remove;
mod run;
mod test;
mod validate;

mod editor;
mod pages;

use clap::Subcommand;

use super::exit::{Answer, Failure};
use super::flags::{Globals, With};
use crate::surface::stdout::Out;
use crate::tool_files::ToolFileStore;
use haft_config::Config;
use haft_tool::{Error, ErrorKind};

pub(super) use run::with_parameters;

/// Manage YAML shell tools
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    #[command(override_help = include_str!("help/list.txt"))]
    List(With<list::Args>),
    #[command(override_help = include_str!("help/get.txt"))]
    Get(With<get::Args>),
    #[command(override_help = include_str!("help/add.txt"), disable_help_flag = true)]
    Add(add::Args),
    #[command(override_help = include_str!("help/remove.txt"))]
    Remove(With<remove::Args>),
    #[command(override_help = include_str!("help/test.txt"))]
    Test(With<test::Args>),
    #[command(override_help = include_str!("help/validate.txt"))]
    Validate(With<validate::Args>),
    #[command(override_help = include_str!("help/edit.txt"))]
    Edit(With<edit::Args>),
    #[command(override_help = include_str!("help/export.txt"))]
    Export(With<export::Args>),
    #[command(override_help = include_str!("help/import.txt"))]
    Import(With<import::Args>),
    #[command(override_help = include_str!("help/run.txt"))]
    Run(Box<With<run::Args>>),
}

/// Context of commands that only handle files.
struct Bench<'a> {
    config: Config,
    tool_files: ToolFileStore,
    out: &'a mut Out,
}

impl<'a> Bench<'a> {
    fn open(globals: &Globals, out: &'a mut Out) -> Result<Bench<'a>, Failure> {
        let config = globals.config()?;
        Ok(Bench {
            tool_files: ToolFileStore::new(&config),
            config,
            out,
        })
    }
}

impl Args {
    /// Returns the global arguments that were typed after `tool`.
    pub(super) fn globals(&self) -> Globals {
        let own = self.globals.clone();
        match self.verb.globals() {
            Some(later) => own.followed_by(&later),
            None => own,
        }
    }

    /// Returns the format in which standard output reports a failure.
    pub(super) fn answer(&self) -> Answer {
        match &self.verb {
            Verb::Run(c) => c.args.answer(),
            _ => Answer::Text,
        }
    }

    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        match &self.verb {
            Verb::List(c) => c.args.run(Bench::open(globals, out)?),
            Verb::Get(c) => c.args.run(Bench::open(globals, out)?),
            Verb::Add(args) => args.run(globals, out).await,
            Verb::Remove(c) => c.args.run(Bench::open(globals, out)?).await,
            Verb::Test(c) => {
                let is_verbose = c.globals.is_verbose();
                c.args.run(is_verbose, globals, out).await
            }
            Verb::Validate(c) => c.args.run(Bench::open(globals, out)?),
            Verb::Edit(c) => c.args.run(Bench::open(globals, out)?).await,
            Verb::Export(c) => c.args.run(Bench::open(globals, out)?),
            Verb::Import(c) => c.args.run(Bench::open(globals, out)?),
            Verb::Run(c) => c.args.run(globals, out).await,
        }
    }
}

impl Verb {
    fn globals(&self) -> Option<Globals> {
        Some(match self {
            Verb::List(c) => c.globals.clone(),
            Verb::Get(c) => c.globals.clone(),
            // Its words are only parsed by `run`.
            Verb::Add(_) => return None,
            Verb::Remove(c) => c.globals.clone(),
            // In this command `--verbose` shows the tests' output instead of haft's own log.
            Verb::Test(c) => c.globals.clone().without_verbose(),
            Verb::Validate(c) => c.globals.clone(),
            Verb::Edit(c) => c.globals.clone(),
            Verb::Export(c) => c.globals.clone(),
            Verb::Import(c) => c.globals.clone(),
            Verb::Run(c) => c.globals.clone(),
        })
    }
}

/// Creates an error with exit code 1, for a command that could not complete.
fn failed(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Load, text)
}

fn usage(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, text)
}
