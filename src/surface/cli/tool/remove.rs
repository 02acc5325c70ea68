//! `haft tool remove`: deletes a tool's file after confirmation.

use super::super::confirm::confirm_or;
use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::scope::NamedTool;
use super::{Bench, failed};
use crate::surface::terminal::say;
use haft_render::text;
use haft_tool::terminal_text;

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
        let name = file.name();
        let (scope, path) = (
            file.scope.as_str(),
            text::path(&file.path, &bench.config.home),
        );
        if !self.force {
            let text = format!("nobody can be asked whether '{name}' is to be removed");
            let refusal = failed(text).with_hint("`--force` removes it unasked");
            let question =
                terminal_text!("Remove tool '{name}' from {scope} scope ({path})? [y/N] ");
            if !confirm_or(refusal, question).await? {
                say(&terminal_text!("tool '{name}' was not removed\n"));
                return Ok(FAILURE);
            }
        }
        bench.tool_files.remove(&file)?;
        bench
            .out
            .print_line(&terminal_text!("Removed tool '{name}' from {scope} scope."))?;
        Ok(SUCCESS)
    }
}
