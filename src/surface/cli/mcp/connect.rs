//! Connects servers for the commands, and shows what they offer and what is different.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::host::ServerState;
use crate::surface::cli::context::CommandContext;
use haft_mcp::{Difference, Standing};
use haft_render::{text, units};
use haft_tool::{Error, ErrorKind, suggest, visible};

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
pub(super) fn page(found: &Found<'_>) -> String {
    let definitions = found.server.definitions().unwrap_or_default();
    let program = definitions.server.as_ref();
    let program = program.map_or(String::new(), |one| {
        format!(", {} {}", one.name, one.version)
    });
    let mut page = format!(
        "{}: MCP {}{program}, {} in {} ms\n",
        found.server.name,
        definitions.protocol,
        units::count(definitions.tools.len(), "tool"),
        found.took.as_millis(),
    );
    for tool in definitions.tools.iter().take(MAX_SHOWN) {
        let about = tool.description.as_deref().unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        let line = format!("  {}  {}", visible::name(&tool.name), visible::line(about));
        page.push_str(&text::keep_start(line.trim_end(), 100));
        page.push('\n');
    }
    if let Some(more @ 1..) = definitions.tools.len().checked_sub(MAX_SHOWN) {
        page.push_str(&format!("  and {more} more\n"));
    }
    for fault in &definitions.faults {
        page.push_str(&format!("  {fault}\n"));
    }
    page.push_str(&changes_page(&found.server.changes()));
    page
}

/// Returns what differs from the trusted definitions, for people.
pub(in crate::surface::cli) fn changes_page(changes: &BTreeMap<String, Standing>) -> String {
    let mut page = String::new();
    for (name, standing) in changes {
        let name = visible::name(name);
        match standing {
            Standing::New => page.push_str(&format!("  {name}: new\n")),
            Standing::Gone => page.push_str(&format!("  {name}: gone\n")),
            Standing::Changed(differences) => {
                page.push_str(&format!("  {name}: changed\n"));
                for difference in differences {
                    page.push_str(&difference_lines(difference));
                }
            }
            Standing::Trusted => {}
        }
    }
    page
}

fn difference_lines(difference: &Difference) -> String {
    let mut lines = format!("    {}\n", visible::line(&difference.part));
    for (sign, value) in [('-', &difference.before), ('+', &difference.now)] {
        for line in value.iter().flat_map(|value| value.lines()) {
            lines.push_str(&format!("      {sign} {}\n", visible::line(line)));
        }
    }
    lines
}
