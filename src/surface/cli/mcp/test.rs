//! `haft mcp test` and `refresh`: start servers, and show what they offer now.

use futures::future::join_all;
use serde_json::json;

use super::connect::{changes_page, connect, find, page};
use super::list::view;
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::terminal::say;
use haft_render::units;
use haft_tool::terminal_text;

/// Exit code of a server that cannot be used.
const UNUSABLE: u8 = 1;

/// Start an MCP server and show what it offers
#[derive(clap::Args)]
pub(super) struct Test {
    /// Name of the server
    name: String,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Read the tools of MCP servers again, and show what is different
#[derive(clap::Args)]
pub(super) struct Refresh {
    /// Name of the server [default: all]
    name: Option<String>,
}

impl Test {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let server = find(session, &self.name).await?;
        let found = connect(&server).await;
        if self.json {
            let mut json = serde_json::to_value(view(&server)).unwrap_or_default();
            json["ms"] = json!(u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX));
            session.out.json(&json)?;
        }
        match &found.result {
            Ok(()) if self.json => Ok(SUCCESS),
            Ok(()) => {
                session.out.print(&page(&found))?;
                Ok(SUCCESS)
            }
            Err(why) => {
                say(&terminal_text!("{}: {why}\n", self.name));
                Ok(UNUSABLE)
            }
        }
    }
}

impl Refresh {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let servers = match &self.name {
            Some(name) => vec![find(session, name).await?],
            None => {
                let all = session.host.mcp_servers().await?.into_iter();
                all.filter(|server| server.is_enabled && server.is_allowed)
                    .collect()
            }
        };
        if servers.is_empty() {
            session
                .out
                .print_line(&terminal_text!("there are no MCP servers"))?;
        }
        let mut code = SUCCESS;
        for found in join_all(servers.iter().map(connect)).await {
            match &found.result {
                Ok(()) => {
                    let tools = found.server.definitions().unwrap_or_default().tools.len();
                    let tools = units::count(tools, "tool");
                    session
                        .out
                        .print_line(&terminal_text!("{}: {tools}", found.server.name))?;
                    session.out.print(&changes_page(&found.server.changes()))?;
                }
                Err(why) => {
                    say(&terminal_text!("{}: {why}\n", found.server.name));
                    code = UNUSABLE;
                }
            }
        }
        Ok(code)
    }
}
