//! The part of `haft doctor` about MCP servers: where each is configured, its state, what of it is
//! trusted. Starts nothing.

use std::path::Path;

use crate::surface::cli::mcp::ServerView;
use haft_render::style::Ink;
use haft_render::{text, units};
use haft_tool::{TerminalText, terminal_text};

/// Renders the servers; an empty text if there are none.
pub(super) fn page(servers: &[ServerView], home: &Path, ink: Ink) -> TerminalText {
    if servers.is_empty() {
        return TerminalText::new();
    }
    let mut page = terminal_text!("{}\n", ink.bold("MCP servers"));
    let width = |of: fn(&ServerView) -> &str| servers.iter().map(|it| of(it).len()).max();
    let names = width(|it| &it.name).unwrap_or_default();
    let states = width(|it| it.state).unwrap_or_default();
    for server in servers {
        let pinned = match server.pinned {
            Some(tools) => terminal_text!("{} trusted", units::count(tools, "tool")),
            None => "nothing trusted yet".into(),
        };
        let state = terminal_text!("{:<states$}", server.state);
        let state = match server.state {
            "ready" => ink.good(state),
            "failed" | "invalid" => ink.error(state),
            _ => ink.warning(state),
        };
        let path = text::path(Path::new(&server.path), home);
        page.push(&terminal_text!(
            "  {:<names$}  {state}  {path}  {pinned}\n",
            server.name
        ));
        if let Some(reason) = &server.reason {
            page.push(&terminal_text!("    {reason}\n"));
        }
    }
    page.push_literal("\n");
    page
}
