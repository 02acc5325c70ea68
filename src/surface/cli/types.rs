//! `haft types`: prints type declarations of the tools for programs that call them.

use std::path::PathBuf;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::learn_types;
use super::schema::offered;
use crate::code::CodeMode;
use crate::surface::terminal::say;
use haft_tool::{Error, ErrorKind, Tool, types};

/// Print types of the tools' arguments and results, for programs that call them
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft types > tools.d.ts            the package `haft` then types `tools.call(\"greet\", {…})`
  haft types --python > tools.py     a TypedDict for each tool
  haft types greet                   only this tool
  haft types --script --out tools.d.ts   for scripts of `haft run`: the global `tools`
  haft types --learn                 note the types of recorded results, for tools that declare none

The same tools give the same text, so the file can be kept under version control.")]
pub(super) struct Args {
    /// The tools' names; without one, all tools that a model may see
    names: Vec<String>,
    /// Print Python instead of TypeScript
    #[arg(long)]
    python: bool,
    /// Print what scripts of `haft run` have: the global `tools` and the others
    #[arg(long, conflicts_with_all = ["python", "names"])]
    script: bool,
    /// Write to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take the types of results that tools do not declare from recorded runs and from tests, for
    /// scripts and for `--script`
    #[arg(long, conflicts_with_all = ["python", "names"])]
    learn: bool,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
        if self.learn {
            let learned = learn_types::learn(session.host.config(), &catalog)?;
            say(&learned);
            if !self.script && self.out.is_none() {
                return Ok(SUCCESS);
            }
        }
        if self.script || self.learn {
            let index = CodeMode::with_all().index(&catalog, &session.host);
            return self.write(&index.declaration_file(), session);
        }
        let mut named = Vec::with_capacity(self.names.len());
        for name in &self.names {
            named.push(session.tool(name).await?);
        }
        let mut tools: Vec<&Tool> = if named.is_empty() {
            offered(&catalog).collect()
        } else {
            named.iter().map(|entry| &*entry.tool).collect()
        };
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        let text = if self.python {
            types::python(&tools)
        } else {
            types::typescript(&tools)
        };
        self.write(&text, session)
    }

    fn write(&self, text: &str, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        match &self.out {
            None => session.out.data(text)?,
            Some(path) => {
                let path = session.host.config().cwd.join(path);
                std::fs::write(&path, text).map_err(|error| {
                    let text = format!("{} cannot be written: {error}", path.display());
                    Error::new(ErrorKind::Usage, text)
                })?;
            }
        }
        Ok(SUCCESS)
    }
}
