//! `haft agents config`: prints, writes or removes the entry of haft in an agent's configuration.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::agents::{self, Agent, Change, Entry, HttpToken, Place, Scope, Server, Settings};
use crate::credentials::{NewToken, TokenStore, id_of, random_id};
use crate::surface::cli::call::time;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::flags::Globals;
use crate::surface::cli::token::{record_new, record_revoked};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::Config;
use haft_render::text;
use haft_tool::Tier;
use haft_tool::{Error, ErrorKind, ToolNames, terminal_text};

/// Default name of the variable that holds the token of a running server.
const TOKEN_VARIABLE: &str = "HAFT_TOKEN";

/// Print the configuration that adds haft to an agent, or write it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft agents config cursor
  haft agents config codex --write
  haft agents config claude-code --scope user --write --tool ~/tools/notes.ts
  haft agents config claude-code --name review --toolset review --write
  haft agents config vscode --url http://127.0.0.1:8377/mcp --write
  haft agents config gemini --remove

With --write everything else in the file stays as it is: comments, order, other servers. Of an
entry that is there already only what haft is changes, settings that are missing are added, and
those that a flag gives are replaced. A file that cannot be understood is left alone. `--tool`, `--config` and the other global options are passed on to the server.")]
pub(super) struct Args {
    /// The agent
    #[arg(value_enum)]
    agent: Agent,

    /// Scope: all users of this project, you in all projects, or (Claude Code) you in this one
    /// [default: project; codex: user]
    #[arg(long, value_enum)]
    scope: Option<Scope>,

    /// Put it into the agent's file instead of printing it
    #[arg(long, conflicts_with = "remove")]
    write: bool,

    /// Take it out of the agent's file
    #[arg(long)]
    remove: bool,

    /// Name of the server there
    #[arg(long, value_name = "NAME", default_value = "haft")]
    name: String,

    /// The program to start [default: this one]
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    command: Option<String>,

    /// Offer the agent the tools of this set of the configuration only (may be repeated)
    #[arg(long = "toolset", value_name = "NAME", conflicts_with = "url")]
    toolsets: Vec<String>,

    /// Connect to a haft that serves MCP over HTTP, instead of starting one
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// With --url: the variable that holds the server's token. Without it --write makes a token for the
    /// agent where the file is yours alone [default: HAFT_TOKEN]
    #[arg(long, value_name = "NAME", requires = "url")]
    token_env: Option<String>,

    /// With --url: the server was started with --no-token
    #[arg(long, requires = "url", conflicts_with = "token_env")]
    no_token: bool,

    /// Codex: wait for the tools before the first request, and end if the server does not start
    /// [default: true]
    #[arg(long, value_name = "BOOL")]
    required: Option<bool>,

    /// Show the model every tool at once, not only the names (Claude Code, Copilot CLI, pi)
    /// [default: true]
    #[arg(long, value_name = "BOOL")]
    always_load: Option<bool>,

    /// Longest time that the start may take (Codex) [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    startup_timeout: Option<Duration>,

    /// Longest time that a call may take, where the agent has such a setting
    /// [default: 10m; Claude Code and Gemini CLI: their own]
    #[arg(long, value_name = "TIME", value_parser = time)]
    tool_timeout: Option<Duration>,
}

impl Args {
    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        agents::check_name(&self.name)?;
        let config = Config::resolve(globals.flags())?;
        let scope = self.scope.unwrap_or(self.agent.scopes()[0]);
        let place = self.place(scope, &config)?;
        let path = text::path(&place.path, &config.home);
        let store = TokenStore::new(&config.state_dir);
        if self.remove {
            let token = agents::token(&place, &self.name)?;
            let change = agents::remove(self.agent, &place, &self.name)?;
            self.report(change, &path, out)?;
            let revoked = match token.as_deref().and_then(id_of) {
                Some(id) => store.revoke(id)?,
                None => Vec::new(),
            };
            if !revoked.is_empty() {
                record_revoked(&config, &revoked);
                out.print_line(&terminal_text!("revoked the token that was in it"))?;
            }
            return Ok(SUCCESS);
        }
        if let Some(url) = &self.url {
            return self.connect(url, scope, &place, &path, &config, out);
        }
        let server = self.program(globals, scope, &config);
        let entry = server.entry(self.agent, &self.name, &self.settings())?;
        if self.write {
            let change = agents::add(self.agent, &place, &self.name, &entry, false)?;
            self.report(change, &path, out)?;
            return Ok(SUCCESS);
        }
        self.print(&place, &path, &entry, out)
    }

    /// Writes or prints the entry for a running server.
    fn connect(
        &self,
        url: &str,
        scope: Scope,
        place: &Place,
        path: &str,
        config: &Config,
        out: &mut Out,
    ) -> Result<u8, Failure> {
        let store = TokenStore::new(&config.state_dir);
        let makes_token = self.write && !self.no_token && self.token_env.is_none();
        // A file that others check out must not contain a secret.
        let makes_token = makes_token && scope != Scope::Project;
        let kept = if makes_token {
            agents::token(place, &self.name)?.filter(|text| store.find(text).is_some())
        } else {
            None
        };
        let server = |token| Server::Http {
            url: url.to_owned(),
            token,
        };
        // Fails for an unsupported setting before a token is created.
        let variable = self.token_env.as_deref().unwrap_or(TOKEN_VARIABLE);
        let first = if self.no_token || makes_token {
            HttpToken::None
        } else {
            HttpToken::Variable(variable.to_owned())
        };
        let mut entry = server(first).entry(self.agent, &self.name, &self.settings())?;
        let mut made = None;
        if makes_token {
            let text = match kept {
                Some(text) => text,
                None => {
                    let (text, capability) = store.create(NewToken {
                        name: Some(format!("{}-{}", self.agent.id(), &random_id()[..6])),
                        tools: ToolNames::new(vec!["*".to_owned()])?,
                        tier: Tier::Exec,
                        sessions: false,
                        lifetime: None,
                    })?;
                    record_new(config, &capability);
                    made = Some(capability);
                    text
                }
            };
            entry =
                server(HttpToken::Text(text)).entry(self.agent, &self.name, &self.settings())?;
        }
        if !self.write {
            self.print(place, path, &entry, out)?;
            self.say_of_variable();
            return Ok(SUCCESS);
        }
        let written = agents::add(self.agent, place, &self.name, &entry, makes_token);
        if let (Err(_), Some(made)) = (&written, &made) {
            // The new token was not written anywhere, so revoke it.
            record_revoked(config, &store.revoke(&made.id)?);
        }
        self.report(written?, path, out)?;
        match &made {
            Some(made) => out.print_line(&terminal_text!("made the token `{}` for it, which only you can read there; `haft token revoke {}` ends it",
                made.name, made.name))?,
            None if !makes_token => self.say_of_variable(),
            None => {}
        }
        Ok(SUCCESS)
    }

    /// Prints which token the variable has to hold, unless the user chose the variable.
    fn say_of_variable(&self) {
        if self.no_token || self.token_env.is_some() {
            return;
        }
        say(&terminal_text!(
            "{TOKEN_VARIABLE} in the agent's environment must hold a token of the server: \
             `haft token new` makes one\n"
        ));
    }

    fn print(
        &self,
        place: &Place,
        path: &str,
        entry: &Entry,
        out: &mut Out,
    ) -> Result<u8, Failure> {
        let snippet = agents::snippet(place, &self.name, entry);
        out.data(&snippet)?;
        out.flush()?;
        say(&terminal_text!(
            "this belongs in {path}; `--write` puts it there\n"
        ));
        Ok(SUCCESS)
    }

    fn place(&self, scope: Scope, config: &Config) -> Result<Place, Error> {
        self.agent.place(scope, config).ok_or_else(|| {
            let (label, scope) = (self.agent.label(), scope.id());
            let scopes = self.agent.scopes().iter().map(|scope| scope.id());
            let known = scopes.collect::<Vec<_>>().join(", ");
            let text = format!("{label} has no scope `{scope}`");
            Error::new(ErrorKind::Usage, text).with_hint(format!("it has: {known}"))
        })
    }

    fn program(&self, globals: &Globals, scope: Scope, config: &Config) -> Server {
        let command = self.command.clone();
        let mut args = globals.words(config, scope == Scope::Project);
        args.extend(["serve", "mcp"].map(str::to_owned));
        for name in &self.toolsets {
            args.extend(["--toolset".to_owned(), name.clone()]);
        }
        Server::Program {
            command: command.unwrap_or_else(|| agents::program(config, scope)),
            args,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            required: self.required,
            always_load: self.always_load,
            startup_timeout: self.startup_timeout,
            tool_timeout: self.tool_timeout,
        }
    }

    fn report(&self, change: Change, path: &str, out: &mut Out) -> std::io::Result<()> {
        let (name, label) = (&self.name, self.agent.label());
        match change {
            Change::Added => {
                out.print_line(&terminal_text!("added `{name}` to {path} for {label}"))
            }
            Change::Updated => {
                out.print_line(&terminal_text!("updated `{name}` in {path} for {label}"))
            }
            Change::Unchanged => out.print_line(&terminal_text!(
                "{path} has `{name}` already; nothing changed"
            )),
            Change::Removed => out.print_line(&terminal_text!("removed `{name}` from {path}")),
            Change::Absent => {
                out.print_line(&terminal_text!("{path} has no `{name}`; nothing changed"))
            }
        }
    }
}

impl ValueEnum for Agent {
    fn value_variants<'a>() -> &'a [Agent] {
        Agent::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.id()).help(self.label()))
    }
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Scope] {
        &[Scope::Project, Scope::User, Scope::Local]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.id()))
    }
}
