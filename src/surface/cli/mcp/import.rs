//! `haft mcp import`: copies the servers of other programs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::agents::add_server;
use crate::surface::cli::confirm::{confirm_or, nobody_can_be_asked};
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::{Config, McpImport, McpServer, McpTransport, parse_word};
use haft_discover::imported_files;
use haft_mcp::foreign;
use haft_render::{text, units};
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};

/// Copy MCP servers of other programs into config.yaml
#[derive(clap::Args)]
pub(super) struct Import {
    /// Programs: claude-code, claude-desktop, cursor, vscode, codex, opencode [default: all]
    #[arg(value_name = "PROGRAM", value_parser = parse_word::<McpImport>)]
    programs: Vec<McpImport>,

    /// Ask nothing
    #[arg(long, short)]
    yes: bool,
}

impl Import {
    pub(super) async fn run(&self, config: &Config, out: &mut Out) -> Result<u8, Failure> {
        let programs = if self.programs.is_empty() {
            McpImport::ALL
        } else {
            &self.programs
        };
        let project = config.cwd.display().to_string();
        let mut found: BTreeMap<String, McpServer> = BTreeMap::new();
        let mut lines = TerminalText::new();
        for &import in programs
            .iter()
            .filter(|import| **import != McpImport::Project)
        {
            let files = imported_files(config, import).into_iter();
            for file in files.filter(|file| file.is_file()) {
                let shown = text::path(&file, &config.home);
                let read = std::fs::read_to_string(&file).map_err(|error| error.to_string());
                let servers = match read.and_then(|text| foreign::servers(import, &text, &project))
                {
                    Ok(servers) => servers,
                    Err(why) => {
                        say(&terminal_text!("{shown} is not read: {why}\n"));
                        continue;
                    }
                };
                for (name, server) in servers {
                    let name_shown = name.clone();
                    match server {
                        Err(why) => say(&terminal_text!("`{name_shown}` of {shown}: {why}\n")),
                        Ok(_) if config.mcp.servers.contains_key(&name) => {
                            say(&terminal_text!(
                                "`{name_shown}` of {shown}: config.yaml has the name\n"
                            ));
                        }
                        Ok(_) if found.contains_key(&name) => {
                            say(&terminal_text!(
                                "`{name_shown}` of {shown}: another has the name\n"
                            ));
                        }
                        Ok(server) => {
                            let address = TerminalText::from_line(&address(&server));
                            lines.push(&terminal_text!("{name}  {shown}\n  {address}\n"));
                            found.insert(name, server);
                        }
                    }
                }
            }
        }
        if found.is_empty() {
            out.print_line(&terminal_text!("no further MCP servers are found"))?;
            return Ok(SUCCESS);
        }
        out.print(&lines)?;
        out.flush()?;
        let file = text::path(&config.config_file, &config.home);
        if !self.yes {
            let servers = units::count(found.len(), "server");
            let question = terminal_text!("Copy {servers} into {file}? [y/N] ");
            let (whether, unasked) = ("to copy these servers", "`haft mcp import --yes`");
            let refusal = nobody_can_be_asked(ErrorKind::Denied, whether, unasked);
            if !confirm_or(refusal, question).await? {
                return Err(Error::new(ErrorKind::Denied, "nothing was changed").into());
            }
        }
        for (name, server) in &found {
            add_server(&config.config_file, name, written(server))?;
        }
        let servers = units::count(found.len(), "server");
        out.print_line(&terminal_text!("copied {servers} into {file}"))?;
        Ok(SUCCESS)
    }
}

fn address(server: &McpServer) -> String {
    let words = server.command.iter().chain(&server.args);
    let words: Vec<&str> = words.map(String::as_str).collect();
    match &server.url {
        Some(url) if words.is_empty() => url.split('?').next().unwrap_or_default().to_owned(),
        _ => words.join(" "),
    }
}

/// Returns a server as `config.yaml` has it.
fn written(server: &McpServer) -> Map<String, Value> {
    let mut map = Map::new();
    let mut set = |key: &str, value: Value| {
        let is_empty = match &value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !is_empty {
            map.insert(key.to_owned(), value);
        }
    };
    let seconds = |time: Option<Duration>| time.map(haft_config::format_duration);
    set("type", json!(server.transport.map(McpTransport::as_str)));
    set("command", json!(server.command));
    set("args", json!(server.args));
    set("env", json!(server.env));
    set(
        "cwd",
        json!(server.cwd.as_deref().map(Path::to_string_lossy)),
    );
    set("url", json!(server.url));
    set("headers", json!(server.headers));
    set("include", json!(server.include));
    set("exclude", json!(server.exclude));
    set("startup_timeout", json!(seconds(server.startup_timeout)));
    set("timeout", json!(seconds(server.timeout)));
    map
}
