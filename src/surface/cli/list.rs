//! `haft list`: lists every tool, and the problems of files that are not tools.
//!
//! With `--for gemini` it is a discovery command of Gemini CLI: it prints the declarations of the
//! tools that a model may see, and nothing on standard error unless it fails.

use serde::Serialize;
use serde_json::Value;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::flags::named;
use super::schema;
use crate::registry::Catalog;
use crate::surface::terminal::say;
use crate::surface::wire::Listing;
use haft_render::table::{Column, Fit};
use haft_render::{problem, table, text};
use haft_tool::provider_schema::{Names, for_mcp};
use haft_tool::{TerminalText, Tool, terminal_text};

/// Maximum width of a description if the output is not a terminal.
const DESCRIPTION: usize = 60;

const COLUMNS: [Column; 5] = [
    Column::new("NAME", Fit::Whole),
    Column::new("DESCRIPTION", Fit::KeepStart(24)),
    Column::new("FAMILY", Fit::Whole),
    Column::new("LEVEL", Fit::Whole),
    Column::new("PATH", Fit::KeepEnd(16)),
];

/// List the tools, and what is wrong with the others
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft list
  haft --cwd ~/project --trust-project list
  haft list --json | jq -r '.tools[].name'
  haft list --for gemini             the declarations, for `tools.discoveryCommand` of Gemini CLI

The exit code is 0 even if there are problems; `haft doctor` has one for them.")]
pub(super) struct Args {
    /// Print tools and problems as one JSON object
    #[arg(long)]
    pub(super) json: bool,

    /// Print the tools as this agent reads them from a command
    #[arg(long = "for", value_name = "AGENT", conflicts_with = "json", value_parser = named(Reader::ALL, Reader::name))]
    reader: Option<Reader>,
}

/// Agent that learns tools from the output of a command.
#[derive(Clone, Copy, Debug)]
enum Reader {
    Gemini,
}

impl Reader {
    const ALL: [Reader; 1] = [Reader::Gemini];

    fn name(self) -> &'static str {
        match self {
            Reader::Gemini => "gemini",
        }
    }
}

/// Function declaration, as Gemini CLI reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration {
    name: String,
    description: String,
    parameters_json_schema: Value,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
        if self.json {
            session.out.json(&Listing::from(&*catalog))?;
        } else if self.reader.is_some() {
            session.out.json(&declarations(&catalog))?;
        } else {
            print(&catalog, session)?;
        }
        Ok(SUCCESS)
    }
}

/// Returns the tools that a model may see. Those that no provider takes are left out.
fn declarations(catalog: &Catalog) -> Vec<Declaration> {
    let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
    let declarations = schema::offered(catalog).filter_map(|tool| {
        let offered = for_mcp(tool).ok()?;
        Some(Declaration {
            name: names.offered(&tool.name).to_owned(),
            description: offered.description,
            parameters_json_schema: offered.schema,
        })
    });
    declarations.collect()
}

fn print(catalog: &Catalog, session: &mut CommandContext<'_>) -> Result<(), Failure> {
    let mut notes = TerminalText::new();
    if catalog.entries.is_empty() {
        notes.push_literal("no tools found\n");
        let hint = "`haft doctor` shows where was looked; `--tool PATH` adds a file or directory";
        notes.push(&problem::hint_line(hint, session.err));
    } else {
        let page = tools(catalog.tools(), session);
        session.out.print(&page)?;
        session.out.flush()?;
    }
    notes.push(&problems(catalog, session));
    say(&notes);
    Ok(())
}

/// Renders these tools as a table.
pub(super) fn tools<'a>(
    tools: impl Iterator<Item = &'a Tool>,
    session: &CommandContext<'_>,
) -> TerminalText {
    let rows: Vec<_> = tools.map(|tool| row(tool, session)).collect();
    table::render(&COLUMNS, &rows, session.out.width(), session.out.ink())
}

/// Returns the problems, and the tools that are not trusted.
pub(super) fn problems(catalog: &Catalog, session: &CommandContext<'_>) -> TerminalText {
    let ink = session.err;
    let mut notes = TerminalText::new();
    for entry in &catalog.problems {
        notes.push_literal("\n");
        notes.push(&problem::problem(entry, session.home(), ink));
    }
    let untrusted = catalog.tools().filter(|tool| !tool.trusted);
    let names: Vec<_> = untrusted.map(|tool| tool.name.as_str()).collect();
    if !names.is_empty() {
        let names = names.join("`, `");
        notes.push(&terminal_text!("\nnot trusted, so not run: `{names}`\n"));
        notes.push(&problem::hint_line(
            "`haft trust` shows what would run, and asks",
            ink,
        ));
    }
    notes
}

fn row(tool: &Tool, session: &CommandContext<'_>) -> Vec<TerminalText> {
    let mut description = text::first_line(&tool.description);
    if session.out.width().is_none() {
        description = description.keep_start(DESCRIPTION);
    }
    let level = tool.source.level.as_str();
    let level = match (tool.trusted, tool.hidden) {
        (false, _) => "untrusted".into(),
        (true, true) => terminal_text!("{level}, hidden"),
        (true, false) => level.into(),
    };
    vec![
        TerminalText::from_value(&tool.name),
        description,
        tool.source.family.as_str().into(),
        level,
        text::path(&tool.source.path, session.home()),
    ]
}
