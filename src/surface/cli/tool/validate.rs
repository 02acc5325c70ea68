//! `haft tool validate`: lists all problems of a file, and repairs it.

use std::io::Write;

use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::scope::NamedTool;
use super::{Bench, pages};
use crate::tool_files::ToolFile;
use haft_render::{text, units};

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
                writeln!(bench.out, "fixed: {}", text::clean(what))?;
            }
        }
        let mut problems = bench.tool_files.problems(&file);
        problems.extend(file.advice());
        let is_valid = !pages::has_errors(&problems);
        problems.sort_by_key(|one| (one.line, one.column));
        let ink = bench.out.ink();
        let page = pages::problems(&problems, &bench.config.home, self.detailed, ink);
        bench.out.write_all(page.as_bytes())?;
        if self.detailed {
            self.details(&file, bench.out)?;
        }
        let name = text::name(&self.tool.name);
        if is_valid {
            writeln!(bench.out, "Tool '{name}' is valid.")?;
            Ok(SUCCESS)
        } else {
            writeln!(bench.out, "Tool '{name}' is not valid.")?;
            Ok(FAILURE)
        }
    }

    fn details(&self, file: &ToolFile, out: &mut impl Write) -> Result<(), Failure> {
        writeln!(
            out,
            "file: {}",
            text::name(&file.path.display().to_string())
        )?;
        writeln!(out, "scope: {}", file.scope.as_str())?;
        if let Some(tool) = file.summary() {
            let platforms = if tool.platforms.is_empty() {
                "all".to_owned()
            } else {
                tool.platforms.join(", ")
            };
            writeln!(out, "version: {}", text::name(tool.version))?;
            writeln!(out, "platforms: {platforms}")?;
            writeln!(out, "tags: {}", text::name(&tool.tags.join(", ")))?;
            writeln!(out, "tests: {}", units::count(tool.tests, "test"))?;
        }
        Ok(())
    }
}
