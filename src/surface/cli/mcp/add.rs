//! `haft mcp add` and `remove`: the servers of the user's own configuration.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::connect::{connect, find, page};
use crate::agents::{add_server, remove_server};
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::terminal::say;
use haft_config::{Config, McpTransport, check_server_name};
use haft_render::text;
use haft_tool::{Error, ErrorKind, terminal_text};

/// Add an MCP server to config.yaml, and start it once to see what it offers
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  haft mcp add db --env 'DATABASE_URL=${DATABASE_URL}' -- uvx mcp-server-sqlite
  haft mcp add docs https://example.com/mcp

`${NAME}` in quotes stays in the file and is replaced when the server starts, so that no secret is
in the file. What the server offers now is what you trust: docs/mcp-servers.md.")]
pub(super) struct Add {
    /// Name of the server
    name: String,

    /// Environment variable of the program (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// Header of each request to a URL (may be repeated)
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// Transport: stdio, http or sse
    #[arg(long, value_name = "NAME")]
    transport: Option<McpTransport>,

    /// Do not start the server
    #[arg(long)]
    no_test: bool,

    /// URL of the server; or its program with arguments, after `--`
    #[arg(required = true, value_name = "URL | COMMAND")]
    target: Vec<String>,
}

impl Add {
    /// Writes the server into the user's configuration.
    pub(super) fn write(&self, config: &Config) -> Result<(), Failure> {
        let server = self.server()?;
        add_server(&config.config_file, &self.name, server)?;
        Ok(())
    }

    fn server(&self) -> Result<Map<String, Value>, Error> {
        let usage = |text: String| Error::new(ErrorKind::Usage, text);
        check_server_name(&self.name).map_err(usage)?;
        let mut server = Map::new();
        let is_url = matches!(&self.target[..], [one] if one.contains("://"));
        if let Some(transport) = self.transport {
            server.insert("type".to_owned(), json!(transport.as_str()));
            if is_url == (transport == McpTransport::Stdio) {
                let name = transport.as_str();
                let needed = if is_url { "a program" } else { "a URL" };
                return Err(usage(format!("the transport `{name}` needs {needed}")));
            }
        }
        match &self.target[..] {
            [url] if is_url => {
                server.insert("url".to_owned(), json!(url));
            }
            [command, args @ ..] => {
                server.insert("command".to_owned(), json!(command));
                if !args.is_empty() {
                    server.insert("args".to_owned(), json!(args));
                }
            }
            [] => return Err(usage("neither a URL nor a program is given".to_owned())),
        }
        let pairs = |given: &[String], separator: char, of: &str| {
            let mut pairs = BTreeMap::new();
            for pair in given {
                let (name, value) = pair
                    .split_once(separator)
                    .ok_or_else(|| usage(format!("`{pair}` is not {of}")))?;
                pairs.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            Ok::<_, Error>(pairs)
        };
        let env = pairs(&self.env, '=', "NAME=VALUE")?;
        let headers = pairs(&self.header, ':', "`NAME: VALUE`")?;
        if is_url && !env.is_empty() {
            return Err(usage(
                "--env is for programs; a URL has --header".to_owned(),
            ));
        }
        if !is_url && !headers.is_empty() {
            return Err(usage(
                "--header is for URLs; a program has --env".to_owned(),
            ));
        }
        if !env.is_empty() {
            server.insert("env".to_owned(), json!(env));
        }
        if !headers.is_empty() {
            server.insert("headers".to_owned(), json!(headers));
        }
        Ok(server)
    }

    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let file = session.host.config().config_file.clone();
        let file = text::path(&file, session.home());
        session
            .out
            .print_line(&terminal_text!("added `{}` to {file}", self.name))?;
        if self.no_test {
            return Ok(SUCCESS);
        }
        session.out.flush()?;
        let server = find(session, &self.name).await?;
        let found = connect(&server).await;
        match &found.result {
            Ok(()) => session.out.print(&page(&found))?,
            // It is in the file; the user may still have to install or start something.
            Err(why) => {
                let name = &self.name;
                say(&terminal_text!(
                    "it does not work yet: {why}\n`haft mcp test {name}` tries again\n"
                ));
            }
        }
        Ok(SUCCESS)
    }
}

/// Remove an MCP server from config.yaml
#[derive(clap::Args)]
pub(super) struct Remove {
    /// Name of the server
    name: String,
}

impl Remove {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let file = session.host.config().config_file.clone();
        let server = find(session, &self.name).await;
        if !remove_server(&file, &self.name)? {
            let shown = text::path(&file, session.home());
            let error = Error::new(
                ErrorKind::Usage,
                format!("{} has no MCP server `{}`", shown.as_str(), self.name),
            );
            return Err(match server {
                Ok(server) => {
                    let place = server.source.path.display();
                    error.with_hint(format!("it is in {place}"))
                }
                Err(_) => error,
            }
            .into());
        }
        if let Ok(server) = server
            && let Err(error) = server.forget()
        {
            say(&terminal_text!(
                "what is trusted of it cannot be removed: {error}\n"
            ));
        }
        session
            .out
            .print_line(&terminal_text!("removed `{}`", self.name))?;
        Ok(SUCCESS)
    }
}
