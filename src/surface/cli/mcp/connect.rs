//! Connects servers for the commands, and shows what they offer and what is different.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::host::ServerState;
use crate::surface::cli::context::CommandContext;
use haft_mcp::{Difference, Standing};
use haft_render::units;
use haft_tool::{Error, ErrorKind, TerminalText, suggest, terminal_text};

/// Number of tools that are shown of a server.
const MAX_SHOWN: usize = 60;

/// Returns the server of that name.
pub(super) async fn find(session: &CommandContext<'_>, name: &str) -> Result<ServerState, Error> {
    let mut servers = session.host.mcp_servers().await?;
    if let Some(place) = servers.iter().position(|server| server.name == name) {
        return Ok(servers.swap_remove(place));
    }
    let error = Error::new(ErrorKind::Usage, format!("there is no MCP server `{name}`"));
    let known: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
    Err(match suggest(name, known.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.with_hint("`haft mcp add` adds one"),
        None => error.with_hint(format!("there are: {}", known.join(", "))),
    })
}

/// Result of starting a server.
pub(super) struct Found<'a> {
    pub(super) server: &'a ServerState,
    pub(super) result: Result<(), String>,
    pub(super) took: Duration,
}

pub(super) async fn connect(server: &ServerState) -> Found<'_> {
    let start = Instant::now();
    let connected = server.connect().await;
    let took = start.elapsed();
    let result = match connected {
        Ok(_) => {
            server.close().await;
            Ok(())
        }
        Err(failure) => Err(failure.to_string()),
    };
    Found {
        server,
        result,
        took,
    }
}

/// Returns what a started server offers, for people.
pub(super) fn page(found: &Found<'_>) -> TerminalText {
    let definitions = found.server.definitions().unwrap_or_default();
    let program = definitions.server.as_ref();
    let program = program.map_or(TerminalText::new(), |one| {
        terminal_text!(", {} {}", one.name, one.version)
    });
    let mut page = terminal_text!(
        "{}: MCP {}{program}, {} in {} ms\n",
        found.server.name,
        definitions.protocol,
        units::count(definitions.tools.len(), "tool"),
        found.took.as_millis(),
    );
    for tool in definitions.tools.iter().take(MAX_SHOWN) {
        let about = tool.description.as_deref().unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        let line = terminal_text!("  {}  {}", tool.name, TerminalText::from_line(about));
        page.push(&line.trimmed_end().keep_start(100));
        page.push_literal("\n");
    }
    if let Some(more @ 1..) = definitions.tools.len().checked_sub(MAX_SHOWN) {
        page.push(&terminal_text!("  and {more} more\n"));
    }
    for fault in &definitions.faults {
        page.push(&terminal_text!("  {fault}\n"));
    }
    page.push(&changes_page(&found.server.changes()));
    page
}

/// Returns what differs from the trusted definitions, for people.
pub(in crate::surface::cli) fn changes_page(changes: &BTreeMap<String, Standing>) -> TerminalText {
    let mut page = TerminalText::new();
    for (name, standing) in changes {
        match standing {
            Standing::New => page.push(&terminal_text!("  {name}: new\n")),
            Standing::Gone => page.push(&terminal_text!("  {name}: gone\n")),
            Standing::Changed(differences) => {
                page.push(&terminal_text!("  {name}: changed\n"));
                for difference in differences {
                    page.push(&difference_lines(difference));
                }
            }
            Standing::Trusted => {}
        }
    }
    page
}

fn difference_lines(difference: &Difference) -> TerminalText {
    let mut lines = terminal_text!("    {}\n", TerminalText::from_line(&difference.part));
    for (sign, value) in [('-', &difference.before), ('+', &difference.now)] {
        for line in value.iter().flat_map(|value| value.lines()) {
            lines.push(&terminal_text!(
                "      {sign} {}\n",
                TerminalText::from_line(line)
            ));
        }
    }
    lines
}
