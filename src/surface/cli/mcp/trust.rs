//! `haft trust mcp:NAME`: what servers have changed since they were trusted.

use super::connect::{changes_page, connect, find, page};
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::flags::Globals;
use crate::surface::cli::trust_question::agreed;
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::Config;
use haft_discover::imported_files;
use haft_render::problem;
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};

/// Shows what MCP servers have changed since they were trusted. Nothing is printed without changes.
pub(in crate::surface::cli) async fn show_changes(
    globals: &Globals,
    out: &mut Out,
) -> Result<(), Failure> {
    let config = Config::resolve(globals.flags())?;
    let has_own = !config.mcp.servers.is_empty() || !config.mcp.project_servers.is_empty();
    let is_imported = config.mcp.import.iter().any(|import| {
        let files = imported_files(&config, *import);
        files.iter().any(|file| file.is_file())
    });
    if !has_own && !is_imported {
        return Ok(());
    }
    let show = async |session: &mut CommandContext<'_>| {
        for server in session.host.mcp_servers().await? {
            let changes = changes_page(&server.changes());
            if !changes.is_empty() {
                let name = &server.name;
                session.out.print_line(&terminal_text!(
                    "\nMCP server {name}: `haft trust mcp:{name}` asks"
                ))?;
                session.out.print(&changes)?;
            }
        }
        Ok(SUCCESS)
    };
    CommandContext::with(globals.flags(), out, show).await?;
    Ok(())
}

/// Shows what an MCP server offers that is not trusted, asks, and trusts it.
pub(in crate::surface::cli) async fn trust_server(
    name: &str,
    is_agreed: bool,
    session: &mut CommandContext<'_>,
) -> Result<u8, Failure> {
    let server = find(session, name).await?;
    if let Some(fault) = &server.fault {
        say(&problem::problem(fault, session.home(), session.err));
    }
    if server.definitions().is_none() {
        let found = connect(&server).await;
        if let Err(why) = &found.result {
            let error = Error::new(ErrorKind::Load, format!("the MCP server `{name}`: {why}"));
            return Err(error.into());
        }
        session.out.print(&page(&found))?;
        session
            .out
            .print_line(&terminal_text!("trusted: the tools of `{name}`"))?;
        return Ok(SUCCESS);
    }
    let changes = changes_page(&server.changes());
    if changes.is_empty() && server.is_pinned() {
        session
            .out
            .print_line(&terminal_text!("trusted already, and nothing changed"))?;
        return Ok(SUCCESS);
    }
    session.out.print_line(&terminal_text!(
        "{name}  {}",
        TerminalText::from_line(&server.address)
    ))?;
    session.out.print(&changes)?;
    session.out.flush()?;
    if !is_agreed {
        let question = "Models see these descriptions, and calls run on this server. Trust it? \
                        [y/N] ";
        agreed(name, &format!("mcp:{name}"), question).await?;
    }
    server.trust().map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot store the trust: {error}"),
        )
    })?;
    session
        .out
        .print_line(&terminal_text!("trusted: the tools of `{name}`"))?;
    Ok(SUCCESS)
}
