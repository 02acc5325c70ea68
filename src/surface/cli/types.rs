//! `haft types`: prints type declarations of the tools for programs that call them.

use std::io::Write;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::schema::offered;
use haft_tool::{Tool, types};

/// Print types of the tools' arguments and results, for programs that call them
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft types > tools.d.ts            the package `haft` then types `tools.call(\"greet\", {…})`
  haft types --python > tools.py     a TypedDict for each tool
  haft types greet                   only this tool

The same tools give the same text, so the file can be kept under version control.")]
pub(super) struct Args {
    /// The tools' names; without one, all tools that a model may see
    names: Vec<String>,
    /// Print Python instead of TypeScript
    #[arg(long)]
    python: bool,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
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
        session.out.write_all(text.as_bytes())?;
        Ok(SUCCESS)
    }
}
