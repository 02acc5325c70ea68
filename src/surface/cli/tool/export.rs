//! `haft tool export`: writes a definition for use elsewhere, to a file or to standard output.

use std::path::PathBuf;

use super::super::exit::{Failure, SUCCESS};
use super::get::{Format, definition};
use super::scope::NamedTool;
use super::{Bench, failed};
use crate::surface::terminal::say;
use crate::tool_files::{Overwrite, write};
use haft_config::paths;
use haft_render::text;
use haft_tool::terminal_text;

/// Export a tool definition to a file
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    tool: NamedTool,

    /// yaml or json
    #[arg(long, default_value = "yaml")]
    format: Format,

    /// The file to write; replaced if it is there
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let file = self.tool.find(&bench.tool_files)?;
        let page = definition(&file, self.format, &[])?;
        let Some(output) = &self.output else {
            bench.out.data(&page)?;
            return Ok(SUCCESS);
        };
        let path = bench.config.cwd.join(output);
        write(&path, &page, Overwrite::Yes).map_err(|error| {
            let why = paths::plain(&error);
            failed(format!("{} cannot be written: {why}", path.display()))
        })?;
        let path = text::path(&path, &bench.config.home);
        say(&terminal_text!(
            "Exported tool '{}' to {path}\n",
            self.tool.name
        ));
        Ok(SUCCESS)
    }
}
