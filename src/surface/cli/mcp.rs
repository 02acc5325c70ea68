//! `haft mcp`: serves MCP on standard input and output, and manages the MCP servers whose tools haft
//! offers.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Subcommand;
use futures::future::join_all;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::context::CommandContext;
use super::exit::{Answer, Failure, SUCCESS, say};
use super::flags::{Globals, With};
use super::serve::McpArgs;
use super::{open, trust};
use crate::agents::{add_server, remove_server};
use crate::host::ServerState;
use crate::surface::rpc::Descriptor;
use crate::surface::stdout::Out;
use haft_config::{Config, McpImport, McpServer, McpTransport, check_server_name};
use haft_discover::imported_files;
use haft_mcp::{Difference, Standing, foreign};
use haft_render::table::{self, Column, Fit};
use haft_render::{problem, text, units};
use haft_tool::visible;
use haft_tool::{Error, ErrorKind, suggest};

/// Number of tools that are shown of a server.
const MAX_SHOWN: usize = 60;

/// Exit code of a server that cannot be used.
const UNUSABLE: u8 = 1;

/// Help of the command. The flags of the server bring their own help, which this replaces.
pub(super) const EXAMPLES: &str = "\
Examples:
  haft mcp                                       what an agent's configuration starts
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  haft mcp add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GH_TOKEN}'
  haft mcp list                                  which there are, and their states
  haft mcp test files                            start it, and show what it offers
  haft trust mcp:files                           what it changed since you trusted it
  haft mcp import claude-code cursor             take over servers of other programs

docs/mcp.md has the options of the server, docs/mcp-servers.md the configuration of servers.";

/// Serve MCP on standard input and output, or manage the MCP servers whose tools haft offers
#[derive(clap::Args)]
pub(super) struct McpCommand {
    #[command(flatten)]
    serve: With<McpArgs>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Add(With<Add>),
    List(With<List>),
    Remove(With<Remove>),
    Test(With<Test>),
    Refresh(With<Refresh>),
    Import(With<Import>),
    Login(With<Login>),
    Logout(With<Logout>),
}

/// Add an MCP server to config.yaml, and start it once to see what it offers
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  haft mcp add db --env 'DATABASE_URL=${DATABASE_URL}' -- uvx mcp-server-sqlite
  haft mcp add docs https://example.com/mcp

`${NAME}` in quotes stays in the file and is replaced when the server starts, so that no secret is
in the file. What the server offers now is what you trust: docs/mcp-servers.md.")]
struct Add {
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

/// List the MCP servers with their states. Starts nothing
#[derive(clap::Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove an MCP server from config.yaml
#[derive(clap::Args)]
struct Remove {
    /// Name of the server
    name: String,
}

/// Start an MCP server and show what it offers
#[derive(clap::Args)]
struct Test {
    /// Name of the server
    name: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Read the tools of MCP servers again, and show what is different
#[derive(clap::Args)]
struct Refresh {
    /// Name of the server [default: all]
    name: Option<String>,
}

/// Copy MCP servers of other programs into config.yaml
#[derive(clap::Args)]
struct Import {
    /// Programs: claude-code, claude-desktop, cursor, vscode, codex, opencode [default: all]
    #[arg(value_name = "PROGRAM")]
    programs: Vec<McpImport>,

    /// Ask nothing
    #[arg(long, short)]
    yes: bool,
}

impl McpCommand {
    /// Returns the global arguments that were typed after `mcp`.
    pub(super) fn globals(&self) -> Globals {
        let globals = self.serve.globals.clone();
        match &self.verb {
            None => globals,
            Some(Verb::Add(c)) => globals.followed_by(&c.globals),
            Some(Verb::List(c)) => globals.followed_by(&c.globals),
            Some(Verb::Remove(c)) => globals.followed_by(&c.globals),
            Some(Verb::Test(c)) => globals.followed_by(&c.globals),
            Some(Verb::Refresh(c)) => globals.followed_by(&c.globals),
            Some(Verb::Import(c)) => globals.followed_by(&c.globals),
            Some(Verb::Login(c)) => globals.followed_by(&c.globals),
            Some(Verb::Logout(c)) => globals.followed_by(&c.globals),
        }
    }

    /// Returns the format in which standard output reports a failure.
    pub(super) fn answer(&self) -> Answer {
        match &self.verb {
            Some(Verb::List(c)) => Answer::json_if(c.args.json),
            Some(Verb::Test(c)) => Answer::json_if(c.args.json),
            _ => Answer::Text,
        }
    }

    pub(super) async fn run(
        &self,
        globals: &Globals,
        out: &mut Out,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        let flags = globals.flags();
        match &self.verb {
            None => self.serve.args.run_alone(globals, out, program).await,
            Some(Verb::Add(c)) => {
                c.args.write(&Config::resolve(flags.clone())?)?;
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::List(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Remove(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Test(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Refresh(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Import(c)) => c.args.run(&Config::resolve(flags)?, out).await,
            Some(Verb::Login(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Logout(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
        }
    }
}

impl Add {
    /// Writes the server into the user's configuration.
    fn write(&self, config: &Config) -> Result<(), Failure> {
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

    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let file = session.host.config().config_file.clone();
        let file = text::path(&file, session.home());
        writeln!(session.out, "added `{}` to {file}", self.name)?;
        if self.no_test {
            return Ok(SUCCESS);
        }
        session.out.flush()?;
        let server = find(session, &self.name).await?;
        let found = connect(&server).await;
        match &found.result {
            Ok(()) => session.out.write_all(page(&found).as_bytes())?,
            // It is in the file; the user may still have to install or start something.
            Err(why) => {
                let name = &self.name;
                say(&format!(
                    "it does not work yet: {why}\n`haft mcp test {name}` tries again\n"
                ));
            }
        }
        Ok(SUCCESS)
    }
}

/// State of a server as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerView {
    name: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    transport: Option<&'static str>,
    address: String,
    provider: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    tools: Vec<String>,
    changed: Vec<String>,
    new: Vec<String>,
}

fn view(server: &ServerState) -> ServerView {
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
        protocol: Some(definitions.protocol).filter(|protocol| !protocol.is_empty()),
        tools: definitions
            .tools
            .into_iter()
            .map(|tool| tool.name)
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
        return ("failed", Some(failure.text()));
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
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let servers = session.host.mcp_servers().await?;
        let views: Vec<ServerView> = servers.iter().map(view).collect();
        if self.json {
            session.out.json(&views)?;
            return Ok(SUCCESS);
        }
        if views.is_empty() {
            writeln!(
                session.out,
                "there are no MCP servers; `haft mcp add` adds one"
            )?;
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
                visible::line(&view.address).into_owned(),
            ]
        };
        let rows: Vec<_> = views.iter().map(row).collect();
        let page = table::render(&COLUMNS, &rows, session.out.width(), session.out.ink());
        session.out.write_all(page.as_bytes())?;
        for view in &views {
            if let Some(reason) = &view.reason {
                say(&format!("{}: {}\n", view.name, visible::line(reason)));
            }
        }
        Ok(SUCCESS)
    }
}

impl Remove {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let file = session.host.config().config_file.clone();
        let server = find(session, &self.name).await;
        if !remove_server(&file, &self.name)? {
            let shown = text::path(&file, session.home());
            let error = Error::new(
                ErrorKind::Usage,
                format!("{shown} has no MCP server `{}`", self.name),
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
            say(&format!(
                "what is trusted of it cannot be removed: {error}\n"
            ));
        }
        writeln!(session.out, "removed `{}`", self.name)?;
        Ok(SUCCESS)
    }
}

/// Returns the server of that name.
async fn find(session: &CommandContext<'_>, name: &str) -> Result<ServerState, Error> {
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
struct Found<'a> {
    server: &'a ServerState,
    result: Result<(), String>,
    took: Duration,
}

async fn connect(server: &ServerState) -> Found<'_> {
    let start = Instant::now();
    let connected = server.connect().await;
    let took = start.elapsed();
    let result = match connected {
        Ok(_) => {
            server.close().await;
            Ok(())
        }
        Err(failure) => Err(failure.text()),
    };
    Found {
        server,
        result,
        took,
    }
}

/// Log in to an MCP server in the browser
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft mcp login github
  haft mcp login intranet --client-id haft-cli   a client that was registered by hand

The tokens are in a file that only you can read, and go to this server only.")]
struct Login {
    /// Name of the server
    name: String,

    /// Id of the client, for a server that registers none by itself
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// Print the address of the page, and do not open it
    #[arg(long)]
    no_browser: bool,
}

/// Forget the login to an MCP server
#[derive(clap::Args)]
struct Logout {
    /// Name of the server
    name: String,
}

impl Login {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let server = find(session, &self.name).await?;
        let browser = session.host.config().browser.clone();
        let browser = browser.filter(|_| !self.no_browser);
        let open = |page: &url::Url| {
            say(&format!("Log in on this page:\n{page}\n"));
            if let Some(words) = browser.clone() {
                let page = page.to_string();
                // The page is printed, too, so it does not matter whether that works.
                tokio::spawn(async move { open::show(&words, &page).await });
            }
        };
        let logged_in = server.log_in(self.client_id.clone(), &open);
        let logged_in = tokio::select! {
            logged_in = logged_in => logged_in,
            () = session.signals.next() => Err("it was cancelled".to_owned()),
        };
        logged_in.map_err(|why| {
            let text = format!("no login to `{}`: {why}", self.name);
            Error::new(ErrorKind::Denied, text)
        })?;
        writeln!(session.out, "logged in to `{}`", self.name)?;
        session.out.flush()?;
        let found = connect(&server).await;
        match &found.result {
            Ok(()) => session.out.write_all(page(&found).as_bytes())?,
            Err(why) => say(&format!("{}: {why}\n", self.name)),
        }
        Ok(SUCCESS)
    }
}

impl Logout {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let server = find(session, &self.name).await?;
        let was_there = server.log_out().map_err(|error| {
            let text = format!("the login cannot be removed: {error}");
            Error::new(ErrorKind::Internal, text)
        })?;
        let text = if was_there {
            "logged out of"
        } else {
            "there is no login to"
        };
        writeln!(session.out, "{text} `{}`", self.name)?;
        Ok(SUCCESS)
    }
}

/// Returns what a started server offers, for people.
fn page(found: &Found<'_>) -> String {
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

impl Test {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
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
                session.out.write_all(page(&found).as_bytes())?;
                Ok(SUCCESS)
            }
            Err(why) => {
                say(&format!("{}: {why}\n", self.name));
                Ok(UNUSABLE)
            }
        }
    }
}

impl Refresh {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let servers = match &self.name {
            Some(name) => vec![find(session, name).await?],
            None => {
                let all = session.host.mcp_servers().await?.into_iter();
                all.filter(|server| server.is_enabled && server.is_allowed)
                    .collect()
            }
        };
        if servers.is_empty() {
            writeln!(session.out, "there are no MCP servers")?;
        }
        let mut code = SUCCESS;
        for found in join_all(servers.iter().map(connect)).await {
            match &found.result {
                Ok(()) => {
                    let tools = found.server.definitions().unwrap_or_default().tools.len();
                    let tools = units::count(tools, "tool");
                    writeln!(session.out, "{}: {tools}", found.server.name)?;
                    session
                        .out
                        .write_all(changes_page(&found.server.changes()).as_bytes())?;
                }
                Err(why) => {
                    say(&format!("{}: {why}\n", found.server.name));
                    code = UNUSABLE;
                }
            }
        }
        Ok(code)
    }
}

/// Returns what differs from the trusted definitions, for people.
pub(super) fn changes_page(changes: &BTreeMap<String, Standing>) -> String {
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

impl Import {
    async fn run(&self, config: &Config, out: &mut Out) -> Result<u8, Failure> {
        let all = McpImport::NAMES.map(|(_, import)| import);
        let programs = if self.programs.is_empty() {
            &all[..]
        } else {
            &self.programs
        };
        let project = config.cwd.display().to_string();
        let mut found: BTreeMap<String, McpServer> = BTreeMap::new();
        let mut lines = String::new();
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
                        say(&format!("{shown} is not read: {why}\n"));
                        continue;
                    }
                };
                for (name, server) in servers {
                    let name_shown = visible::name(&name);
                    match server {
                        Err(why) => say(&format!("`{name_shown}` of {shown}: {why}\n")),
                        Ok(_) if config.mcp.servers.contains_key(&name) => {
                            say(&format!(
                                "`{name_shown}` of {shown}: config.yaml has the name\n"
                            ));
                        }
                        Ok(_) if found.contains_key(&name) => {
                            say(&format!(
                                "`{name_shown}` of {shown}: another has the name\n"
                            ));
                        }
                        Ok(server) => {
                            let address = visible::line(&address(&server)).into_owned();
                            lines.push_str(&format!("{name}  {shown}\n  {address}\n"));
                            found.insert(name, server);
                        }
                    }
                }
            }
        }
        if found.is_empty() {
            writeln!(out, "no further MCP servers are found")?;
            return Ok(SUCCESS);
        }
        out.write_all(lines.as_bytes())?;
        out.flush()?;
        let file = text::path(&config.config_file, &config.home);
        if !self.yes {
            if !trust::can_ask() {
                let text = "nobody can be asked whether to copy these servers";
                let hint = "after a look at the list above: `haft mcp import --yes`";
                return Err(Error::new(ErrorKind::Denied, text).with_hint(hint).into());
            }
            let servers = units::count(found.len(), "server");
            if !trust::consents(format!("Copy {servers} into {file}? [y/N] ")).await? {
                return Err(Error::new(ErrorKind::Denied, "nothing was changed").into());
            }
        }
        for (name, server) in &found {
            add_server(&config.config_file, name, written(server))?;
        }
        let servers = units::count(found.len(), "server");
        writeln!(out, "copied {servers} into {file}")?;
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

/// Shows what MCP servers have changed since they were trusted. Nothing is printed without changes.
pub(super) async fn show_changes(globals: &Globals, out: &mut Out) -> Result<(), Failure> {
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
                writeln!(
                    session.out,
                    "\nMCP server {name}: `haft trust mcp:{name}` asks"
                )?;
                session.out.write_all(changes.as_bytes())?;
            }
        }
        Ok(SUCCESS)
    };
    CommandContext::with(globals.flags(), out, show).await?;
    Ok(())
}

/// Shows what an MCP server offers that is not trusted, asks, and trusts it.
pub(super) async fn trust_server(
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
        session.out.write_all(page(&found).as_bytes())?;
        writeln!(session.out, "trusted: the tools of `{name}`")?;
        return Ok(SUCCESS);
    }
    let changes = changes_page(&server.changes());
    if changes.is_empty() && server.is_pinned() {
        writeln!(session.out, "trusted already, and nothing changed")?;
        return Ok(SUCCESS);
    }
    writeln!(session.out, "{name}  {}", visible::line(&server.address))?;
    session.out.write_all(changes.as_bytes())?;
    session.out.flush()?;
    if !is_agreed {
        if !trust::can_ask() {
            let text = "nobody can be asked whether to trust these tools";
            let hint = format!("after a look at the list above: `haft trust --yes mcp:{name}`");
            return Err(Error::new(ErrorKind::Untrusted, text)
                .with_hint(hint)
                .into());
        }
        let question = "Models see these descriptions, and calls run on this server. Trust it? \
                        [y/N] ";
        if !trust::consents(question.to_owned()).await? {
            let text = format!("the tools of `{name}` are not trusted");
            return Err(Error::new(ErrorKind::Denied, text).into());
        }
    }
    server.trust().map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot store the trust: {error}"),
        )
    })?;
    writeln!(session.out, "trusted: the tools of `{name}`")?;
    Ok(SUCCESS)
}
