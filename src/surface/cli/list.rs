//! `haft list`: lists every tool, and the problems of files that are not tools.

use std::io::Write;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS, say};
use crate::registry::Catalog;
use crate::surface::wire::Listing;
use haft_render::table::{Column, Fit};
use haft_render::{problem, table, text};
use haft_tool::Tool;

/// Maximum width of a description if the output is not a terminal.
const DESCRIPTION: usize = 60;

const COLUMNS: [Column; 5] = [
    Column {
        title: "NAME",
        fit: Fit::Whole,
    },
    Column {
        title: "DESCRIPTION",
        fit: Fit::KeepStart(24),
    },
    Column {
        title: "FAMILY",
        fit: Fit::Whole,
    },
    Column {
        title: "LEVEL",
        fit: Fit::Whole,
    },
    Column {
        title: "PATH",
        fit: Fit::KeepEnd(16),
    },
];

/// List the tools, and what is wrong with the others
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft list
  haft --cwd ~/project --trust-project list
  haft list --json | jq -r '.tools[].name'

The exit code is 0 even if there are problems; `haft doctor` has one for them.")]
pub(super) struct Args {
    /// Print tools and problems as one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
        if self.json {
            session.out.json(&Listing::from(&*catalog))?;
        } else {
            print(&catalog, session)?;
        }
        Ok(SUCCESS)
    }
}

fn print(catalog: &Catalog, session: &mut CommandContext<'_>) -> Result<(), Failure> {
    let mut notes = String::new();
    if catalog.entries.is_empty() {
        notes.push_str("no tools found\n");
        let hint = "`haft doctor` shows where was looked; `--tool PATH` adds a file or directory";
        notes.push_str(&problem::hint_line(hint, session.err));
    } else {
        let page = tools(catalog.tools(), session);
        session.out.write_all(page.as_bytes())?;
        session.out.flush()?;
    }
    notes.push_str(&problems(catalog, session));
    say(&notes);
    Ok(())
}

/// Renders these tools as a table.
pub(super) fn tools<'a>(
    tools: impl Iterator<Item = &'a Tool>,
    session: &CommandContext<'_>,
) -> String {
    let rows: Vec<_> = tools.map(|tool| row(tool, session)).collect();
    table::render(&COLUMNS, &rows, session.out.width(), session.out.ink())
}

/// Returns the problems, and the tools that are not trusted.
pub(super) fn problems(catalog: &Catalog, session: &CommandContext<'_>) -> String {
    let ink = session.err;
    let mut notes = String::new();
    for entry in &catalog.problems {
        notes.push('\n');
        notes.push_str(&problem::problem(entry, session.home(), ink));
    }
    let untrusted = catalog.tools().filter(|tool| !tool.trusted);
    let names: Vec<_> = untrusted.map(|tool| text::name(&tool.name)).collect();
    if !names.is_empty() {
        let names = names.join("`, `");
        notes.push_str(&format!("\nnot trusted, so not run: `{names}`\n"));
        notes.push_str(&problem::hint_line(
            "`haft trust` shows what would run, and asks",
            ink,
        ));
    }
    notes
}

fn row(tool: &Tool, session: &CommandContext<'_>) -> Vec<String> {
    let mut description = text::first_line(&tool.description);
    if session.out.width().is_none() {
        description = text::keep_start(&description, DESCRIPTION);
    }
    let level = tool.source.level.as_str();
    let level = match (tool.trusted, tool.hidden) {
        (false, _) => "untrusted".to_owned(),
        (true, true) => format!("{level}, hidden"),
        (true, false) => level.to_owned(),
    };
    vec![
        text::name(&tool.name),
        description,
        tool.source.family.as_str().to_owned(),
        level,
        text::path(&tool.source.path, session.home()),
    ]
}
