//! `haft tool remove`: deletes a tool's file after confirmation.

use std::io::Write;

use super::super::confirm::confirm_or;
use super::super::exit::{FAILURE, Failure, SUCCESS, say};
use super::scope::NamedTool;
use super::{Bench, failed};
use haft_render::text;

/// Delete a tool
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    tool: NamedTool,

    /// Skip the question
    #[arg(long)]
    force: bool,
}

impl Args {
    pub(super) async fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let file = self.tool.find(&bench.tool_files)?;
        let name = text::name(file.name());
        let (scope, path) = (
            file.scope.as_str(),
            text::path(&file.path, &bench.config.home),
        );
        if !self.force {
            let text = format!("nobody can be asked whether '{name}' is to be removed");
            let refusal = failed(text).with_hint("`--force` removes it unasked");
            let question = format!("Remove tool '{name}' from {scope} scope ({path})? [y/N] ");
            if !confirm_or(refusal, question).await? {
                say(&format!("tool '{name}' was not removed\n"));
                return Ok(FAILURE);
            }
        }
        bench.tool_files.remove(&file)?;
        writeln!(bench.out, "Removed tool '{name}' from {scope} scope.")?;
        Ok(SUCCESS)
    }
}
