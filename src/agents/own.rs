//! MCP servers in haft's own configuration file.

use std::path::Path;

use serde_json::{Map, Value};

use super::agent::{Format, Place};
use super::entry::Entry;
use super::file::{self, Change};
use haft_tool::{Error, ErrorKind};

/// Adds a server to `mcp.servers` of a `config.yaml`. Everything else in the file stays.
///
/// # Errors
/// [`ErrorKind::Usage`] if the file has a server of that name. [`ErrorKind::Load`] if it cannot be
/// read, parsed or written; it is then unchanged.
pub(crate) fn add_server(
    config: &Path,
    name: &str,
    server: Map<String, Value>,
) -> Result<(), Error> {
    let place = place(config);
    if file::lists(&place, name)? == Some(true) {
        let text = format!("{} has an MCP server `{name}`", config.display());
        let hint = format!("`haft mcp remove {name}` removes it");
        return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
    }
    let entry = Entry {
        server,
        settings: Vec::new(),
    };
    file::put(&place, name, &entry)
}

/// Removes a server; returns false if the file has none of that name.
///
/// # Errors
/// As [`add_server`].
pub(crate) fn remove_server(config: &Path, name: &str) -> Result<bool, Error> {
    Ok(file::take(&place(config), name)? == Change::Removed)
}

fn place(config: &Path) -> Place {
    Place {
        path: config.to_owned(),
        keys: vec!["mcp".to_owned(), "servers".to_owned()],
        format: Format::Yaml,
        preamble: None,
    }
}
