//! `haft tool edit`: opens a tool's file in the user's editor.

use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::Bench;
use super::editor::{Session, edited};
use super::scope::NamedTool;
use haft_render::text;
use haft_tool::terminal_text;

/// Edit a tool definition using a text editor
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    tool: NamedTool,

    /// The editor, with its arguments
    #[arg(long, value_name = "EDITOR")]
    editor: Option<String>,
}

impl Args {
    pub(super) async fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let file = self.tool.find(&bench.tool_files)?;
        let shown = &self.tool.name;
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
        let session = edited(
            &bench.config,
            self.editor.as_deref(),
            &stem,
            file.opened.text.clone(),
            &file.path,
            |opened| {
                bench
                    .tool_files
                    .beside_others(&file.path, file.scope, opened)
                    .1
            },
        )
        .await?;
        match session {
            Session::Same => bench
                .out
                .print_line(&terminal_text!("Tool '{shown}' was not changed."))?,
            Session::Good(draft) => {
                bench.tool_files.rewrite(&file, &draft.opened.text)?;
                draft.done();
                let path = text::path(&file.path, &bench.config.home);
                let scope = file.scope.as_str();
                bench.out.print_line(&terminal_text!(
                    "Updated tool '{shown}' in {scope} scope.\nSaved: {path}"
                ))?;
            }
            Session::Bad => return Ok(FAILURE),
        }
        Ok(SUCCESS)
    }
}
