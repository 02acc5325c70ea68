//! `haft agents list`: shows which configuration files of agents contain haft.

use serde::Serialize;

use crate::agents::{self, Agent};
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::flags::Globals;
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::Config;
use haft_render::problem;
use haft_render::table::{self, Column, Fit};
use haft_render::text;
use haft_tool::{Error, TerminalText};

/// Show where each agent looks for servers, and whether haft is there
#[derive(clap::Args)]
pub(super) struct Args {
    /// Name of the server there
    #[arg(long, value_name = "NAME", default_value = "haft")]
    name: String,

    /// Print one JSON array
    #[arg(long)]
    pub(super) json: bool,
}

const COLUMNS: [Column; 4] = [
    Column::new("AGENT", Fit::Whole),
    Column::new("SCOPE", Fit::Whole),
    Column::new("HAFT", Fit::Whole),
    Column::new("FILE", Fit::KeepEnd(16)),
];

#[derive(Serialize)]
struct Row {
    agent: &'static str,
    scope: &'static str,
    path: String,
    /// True if the file exists.
    exists: bool,
    /// True if the file contains haft; absent if the file cannot be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    listed: Option<bool>,
    #[serde(skip)]
    trouble: Option<Error>,
}

impl Args {
    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        agents::check_name(&self.name)?;
        let config = Config::resolve(globals.flags())?;
        let rows = self.rows(&config);
        if self.json {
            out.json(&rows)?;
        } else {
            let lines: Vec<_> = rows.iter().map(|row| row.cells(&config)).collect();
            let page = table::render(&COLUMNS, &lines, out.width(), out.ink());
            out.print(&page)?;
        }
        out.flush()?;
        let ink = haft_render::style::Ink::for_stderr();
        for trouble in rows.iter().filter_map(|row| row.trouble.as_ref()) {
            say(&problem::error(trouble, ink));
        }
        Ok(SUCCESS)
    }

    fn rows(&self, config: &Config) -> Vec<Row> {
        let mut rows = Vec::new();
        for &agent in Agent::ALL {
            for scope in agent.scopes() {
                let Some(place) = agent.place(*scope, config) else {
                    continue;
                };
                let (exists, listed, trouble) = match agents::lists(&place, &self.name) {
                    Ok(listed) => (listed.is_some(), Some(listed == Some(true)), None),
                    Err(error) => (true, None, Some(error)),
                };
                rows.push(Row {
                    agent: agent.id(),
                    scope: scope.id(),
                    path: place.path.display().to_string(),
                    exists,
                    listed,
                    trouble,
                });
            }
        }
        rows
    }
}

impl Row {
    fn cells(&self, config: &Config) -> Vec<TerminalText> {
        let listed = match (self.exists, self.listed) {
            (_, None) => "?",
            (_, Some(true)) => "yes",
            (true, Some(false)) => "no",
            (false, Some(false)) => "-",
        };
        let path = text::path(self.path.as_ref(), &config.home);
        vec![
            TerminalText::from_value(self.agent),
            TerminalText::from_value(self.scope),
            listed.into(),
            path,
        ]
    }
}
