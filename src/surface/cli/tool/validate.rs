//! `haft tool validate`: lists all problems of a file, and repairs it.

use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::scope::NamedTool;
use super::{Bench, pages};
use crate::surface::stdout::Out;
use crate::tool_files::ToolFile;
use haft_render::units;
use haft_tool::{TerminalText, terminal_text};

/// Validate a tool definition for correctness
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    tool: NamedTool,

    /// Fix validation issues if possible
    #[arg(long)]
    fix: bool,

    /// Show the lines in question, and what the tool is
    #[arg(long)]
    detailed: bool,
}

impl Args {
    pub(super) fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let mut file = self.tool.find(&bench.tool_files)?;
        if self.fix {
            let fixed = file.fixed();
            if !fixed.what.is_empty() {
                bench.tool_files.rewrite(&file, &fixed.text)?;
                file = bench.tool_files.again(file);
            }
            for what in &fixed.what {
                bench
                    .out
                    .print_line(&terminal_text!("fixed: {}", TerminalText::from_prose(what)))?;
            }
        }
        let mut problems = bench.tool_files.problems(&file);
        problems.extend(file.advice());
        let is_valid = !pages::has_errors(&problems);
        problems.sort_by_key(|one| (one.line, one.column));
        let ink = bench.out.ink();
        let page = pages::problems(&problems, &bench.config.home, self.detailed, ink);
        bench.out.print(&page)?;
        if self.detailed {
            self.details(&file, bench.out)?;
        }
        let name = &self.tool.name;
        if is_valid {
            bench
                .out
                .print_line(&terminal_text!("Tool '{name}' is valid."))?;
            Ok(SUCCESS)
        } else {
            bench
                .out
                .print_line(&terminal_text!("Tool '{name}' is not valid."))?;
            Ok(FAILURE)
        }
    }

    fn details(&self, file: &ToolFile, out: &mut Out) -> Result<(), Failure> {
        out.print_line(&terminal_text!("file: {}", file.path.display()))?;
        out.print_line(&terminal_text!("scope: {}", file.scope.as_str()))?;
        if let Some(tool) = file.summary() {
            let platforms = if tool.platforms.is_empty() {
                "all".to_owned()
            } else {
                tool.platforms.join(", ")
            };
            out.print_line(&terminal_text!("version: {}", tool.version))?;
            out.print_line(&terminal_text!("platforms: {platforms}"))?;
            out.print_line(&terminal_text!("tags: {}", tool.tags.join(", ")))?;
            out.print_line(&terminal_text!(
                "tests: {}",
                units::count(tool.tests, "test")
            ))?;
        }
        Ok(())
    }
}
