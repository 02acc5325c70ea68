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

/// The command in which `--verbose` shows the output of tests instead of haft's own log.
pub(super) const OWN_VERBOSE: (&str, &str) = ("tool", "test");

/// Manage YAML shell tools
#[derive(clap::Args)]
pub(super) struct Args {
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
    /// Returns the format in which a call reports a failure as an event, if it prints events.
    pub(super) fn event_answer(&self) -> Option<Answer> {
        match &self.verb {
            Verb::Run(c) => c.args.event_answer(),
            _ => None,
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

/// Creates an error with exit code 1, for a command that could not complete.
fn failed(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Load, text)
}

fn usage(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, text)
}
