//! `haft tool list`: lists the YAML shell tools of every scope, filtered and sorted.

use serde::Serialize;

use super::super::exit::{Failure, SUCCESS};
use super::Bench;
use super::scope::ScopeArgs;
use crate::surface::terminal::say;
use crate::tool_files::{Datum, Merged, Summary, ToolFile, yaml};
use haft_render::table::{self, Column, Fit};
use haft_render::{problem, text};
use haft_tool::{TerminalText, terminal_text};

/// Maximum width of a description if the output is not a terminal.
const DESCRIPTION: usize = 60;

const COLUMNS: [Column; 5] = [
    Column::new("NAME", Fit::Whole),
    Column::new("DESCRIPTION", Fit::KeepStart(24)),
    Column::new("SCOPE", Fit::Whole),
    Column::new("CATEGORY", Fit::Whole),
    Column::new("TAGS", Fit::KeepStart(12)),
];

/// List all available tools
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,

    #[arg(long, default_value = "table")]
    format: Format,

    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    #[arg(long)]
    category: Option<String>,

    #[arg(long, value_name = "TEXT")]
    search: Option<String>,

    #[arg(long, value_parser = ["windows", "linux", "macos"])]
    platform: Option<String>,

    #[arg(long, default_value = "name")]
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Simple,
    Table,
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    Name,
    Category,
    Scope,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    name: &'a str,
    description: &'a str,
    scope: &'static str,
    version: &'a str,
    tags: Vec<&'a str>,
    category: Option<&'a str>,
    platforms: Vec<&'static str>,
    tests: usize,
    /// Replacement for a deprecated tool; may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<&'a str>,
    /// True if another tool of this name takes precedence.
    shadowed: bool,
    path: String,
}

impl Args {
    pub(super) fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let files = bench.tool_files.files(self.scope.to_search()?);
        let merged: Vec<_> = files
            .iter()
            .map(|file| bench.tool_files.merged(file))
            .collect();
        let mut rows: Vec<Row<'_>> = files
            .iter()
            .zip(&merged)
            .filter_map(|(file, merged)| self.row(file, merged.as_ref(), &bench))
            .collect();
        // The files come in the order of precedence of the scopes, and stable sorting keeps it
        // among equals.
        match self.sort {
            Sort::Name => rows.sort_by_key(|row| row.name.to_lowercase()),
            Sort::Scope => {}
            Sort::Category => {
                rows.sort_by_key(|row| (row.category.is_none(), row.category, row.name));
            }
        }
        match self.format {
            Format::Json => bench.out.json(&rows)?,
            Format::Yaml => {
                let json = serde_json::to_string(&rows).map_err(std::io::Error::from)?;
                let data = Datum::from_json(&json).unwrap_or(Datum::Null);
                bench.out.data(&yaml(&data))?;
            }
            Format::Simple | Format::Table if rows.is_empty() => {
                bench.out.print_line(&terminal_text!("No tools found."))?;
            }
            Format::Simple => {
                for row in &rows {
                    bench.out.print_line(&terminal_text!("{}", row.name))?;
                }
            }
            Format::Table => {
                let width = bench.out.width();
                let cells: Vec<_> = rows.iter().map(|row| row.cells(width.is_none())).collect();
                let page = table::render(&COLUMNS, &cells, width, bench.out.ink());
                bench.out.print(&page)?;
            }
        }
        bench.out.flush()?;
        tell_broken(&files);
        Ok(SUCCESS)
    }

    /// Creates a row. `merged` is the resolved alias, if the file is one.
    fn row<'a>(
        &self,
        file: &'a ToolFile,
        merged: Option<&'a Merged>,
        bench: &Bench<'_>,
    ) -> Option<Row<'a>> {
        let own = file.summary()?;
        let summary = merged.map_or(own, Merged::summary);
        self.wants(&summary).then(|| Row {
            name: summary.name,
            description: summary.description,
            scope: file.scope.as_str(),
            version: summary.version,
            category: summary.category,
            platforms: summary.platforms,
            tests: summary.tests,
            deprecated: summary.deprecated,
            tags: summary.tags,
            shadowed: file.is_shadowed,
            path: text::path(&file.path, &bench.config.home).into_string(),
        })
    }

    /// Returns true if all filters match.
    fn wants(&self, tool: &Summary<'_>) -> bool {
        let has_tags = self
            .tags
            .iter()
            .all(|tag| tool.tags.contains(&tag.as_str()));
        let has_category = |wanted: &String| tool.category == Some(wanted);
        has_tags
            && self.category.as_ref().is_none_or(has_category)
            && self.search.as_ref().is_none_or(|text| tool.mentions(text))
            && self.platform.as_ref().is_none_or(|own| tool.runs_on(own))
    }
}

impl Row<'_> {
    fn cells(&self, is_bounded: bool) -> Vec<TerminalText> {
        let mut description = text::first_line(self.description);
        if let Some(instead) = self.deprecated {
            let mark = match instead {
                "" => "[deprecated]".into(),
                instead => terminal_text!("[deprecated: {instead}]"),
            };
            description = terminal_text!("{mark} {description}");
        }
        if is_bounded {
            description = description.keep_start(DESCRIPTION);
        }
        let scope = if self.shadowed {
            terminal_text!("{}, shadowed", self.scope)
        } else {
            TerminalText::from_value(self.scope)
        };
        vec![
            TerminalText::from_value(self.name),
            description,
            scope,
            TerminalText::from_value(self.category.unwrap_or_default()),
            TerminalText::from_value(&self.tags.join(", ")),
        ]
    }
}

/// Warns about files that are not valid tools, since they have no row.
fn tell_broken(files: &[ToolFile]) {
    let broken = files.iter().filter(|file| file.opened.definition.is_none());
    let names: Vec<&str> = broken.map(ToolFile::name).collect();
    if !names.is_empty() {
        let ink = haft_render::style::Ink::for_stderr();
        let hint = format!("`haft tool validate {}` says what is wrong", names[0]);
        say(&terminal_text!(
            "not valid, so not listed: `{}`\n{}",
            names.join("`, `"),
            problem::hint_line(&hint, ink)
        ));
    }
}
