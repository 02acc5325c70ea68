//! The part of `haft doctor` about MCP servers: where each is configured, its state, what of it is
//! trusted. Starts nothing.

use std::path::Path;

use crate::surface::cli::mcp::ServerView;
use haft_render::style::Ink;
use haft_render::{text, units};

/// Renders the servers; an empty text if there are none.
pub(super) fn page(servers: &[ServerView], home: &Path, ink: Ink) -> String {
    if servers.is_empty() {
        return String::new();
    }
    let mut page = format!("{}\n", ink.bold("MCP servers"));
    let width = |of: fn(&ServerView) -> &str| servers.iter().map(|it| of(it).len()).max();
    let names = width(|it| &it.name).unwrap_or_default();
    let states = width(|it| it.state).unwrap_or_default();
    for server in servers {
        let pinned = match server.pinned {
            Some(tools) => format!("{} trusted", units::count(tools, "tool")),
            None => "nothing trusted yet".to_owned(),
        };
        let state = format!("{:<states$}", server.state);
        let state = match server.state {
            "ready" => ink.good(state),
            "failed" | "invalid" => ink.error(state),
            _ => ink.warning(state),
        };
        let path = text::path(Path::new(&server.path), home);
        let name = format!("{:<names$}", text::name(&server.name));
        page.push_str(&format!("  {name}  {state}  {path}  {pinned}\n"));
        if let Some(reason) = &server.reason {
            page.push_str(&format!("    {}\n", text::message(reason)));
        }
    }
    page.push('\n');
    page
}
