//! `haft mcp list`: the servers with their states.

use serde::Serialize;

use crate::host::ServerState;
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::terminal::say;
use haft_config::{McpServer, McpTransport};
use haft_mcp::Standing;
use haft_render::table::{self, Column, Fit};
use haft_render::units;
use haft_tool::{TerminalText, terminal_text};

/// List the MCP servers with their states. Starts nothing
#[derive(clap::Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// State of a server as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::surface::cli) struct ServerView {
    pub(in crate::surface::cli) name: String,
    pub(in crate::surface::cli) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::surface::cli) reason: Option<String>,
    transport: Option<&'static str>,
    address: String,
    provider: String,
    pub(in crate::surface::cli) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    /// Number of the trusted definitions; `null` if nothing is trusted yet.
    pub(in crate::surface::cli) pinned: Option<usize>,
    tools: Vec<String>,
    changed: Vec<String>,
    new: Vec<String>,
}

pub(in crate::surface::cli) fn view(server: &ServerState) -> ServerView {
    let (state, reason) = state(server);
    let definitions = server.definitions().unwrap_or_default();
    let changes = server.changes();
    let with = |is_it: fn(&Standing) -> bool| {
        let found = changes.iter().filter(|(_, standing)| is_it(standing));
        found.map(|(name, _)| name.clone()).collect()
    };
    ServerView {
        name: server.name.clone(),
        state,
        reason,
        transport: server.settings.as_ref().map(transport),
        address: server.address.clone(),
        provider: server.source.provider.clone(),
        path: server.source.path.display().to_string(),
        pinned: server.pinned().ok().flatten(),
        protocol: Some(definitions.protocol.clone()).filter(|protocol| !protocol.is_empty()),
        tools: definitions
            .tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect(),
        changed: with(|standing| matches!(standing, Standing::Changed(_))),
        new: with(|standing| matches!(standing, Standing::New)),
    }
}

fn transport(server: &McpServer) -> &'static str {
    let transport = match (server.transport, &server.url) {
        (Some(transport), _) => transport,
        (None, Some(_)) if server.command.is_none() => McpTransport::Http,
        _ => McpTransport::Stdio,
    };
    transport.as_str()
}

/// Returns the state of a server, with the reason.
fn state(server: &ServerState) -> (&'static str, Option<String>) {
    if !server.is_enabled {
        return ("off", None);
    }
    if !server.is_allowed {
        return ("untrusted", Some("its project is not trusted".to_owned()));
    }
    if let Some(problem) = &server.fault {
        return ("invalid", Some(problem.message.clone()));
    }
    if let Some(failure) = server.failure() {
        return ("failed", Some(failure.to_string()));
    }
    if server.definitions().is_none() {
        return ("new", Some("it was not started yet".to_owned()));
    }
    let changes = server.changes();
    let changed = changes
        .values()
        .filter(|one| matches!(one, Standing::Changed(_)));
    let changed = changed.count();
    let new = changes
        .values()
        .filter(|one| matches!(one, Standing::New))
        .count();
    if changed > 0 {
        let tools = units::count(changed, "tool");
        return (
            "changed",
            Some(format!("{tools} changed: `haft trust mcp:{}`", server.name)),
        );
    }
    if new > 0 {
        let tools = units::count(new, "new tool");
        return (
            "ready",
            Some(format!("{tools}: `haft trust mcp:{}`", server.name)),
        );
    }
    ("ready", None)
}

const COLUMNS: [Column; 5] = [
    Column::new("SERVER", Fit::Whole),
    Column::new("STATE", Fit::Whole),
    Column::new("TOOLS", Fit::Whole),
    Column::new("TRANSPORT", Fit::Whole),
    Column::new("ADDRESS", Fit::KeepStart(20)),
];

impl List {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let servers = session.host.mcp_servers().await?;
        let views: Vec<ServerView> = servers.iter().map(view).collect();
        if self.json {
            session.out.json(&views)?;
            return Ok(SUCCESS);
        }
        if views.is_empty() {
            session.out.print_line(&terminal_text!(
                "there are no MCP servers; `haft mcp add` adds one"
            ))?;
            return Ok(SUCCESS);
        }
        let row = |view: &ServerView| {
            vec![
                view.name.clone(),
                view.state.to_owned(),
                match view.state {
                    "ready" | "changed" => view.tools.len().to_string(),
                    _ => String::new(),
                },
                view.transport.unwrap_or_default().to_owned(),
                view.address.clone(),
            ]
        };
        let rows: Vec<_> = views.iter().map(row).collect();
        let page = table::render(&COLUMNS, &rows, session.out.width(), session.out.ink());
        session.out.print(&page)?;
        for view in &views {
            if let Some(reason) = &view.reason {
                say(&terminal_text!(
                    "{}: {}\n",
                    view.name,
                    TerminalText::from_line(reason)
                ));
            }
        }
        Ok(SUCCESS)
    }
}
