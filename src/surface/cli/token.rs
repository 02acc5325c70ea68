//! `haft token`: manages tokens for other programs and people. A token allows some tools, up to a
//! tier, for a time.

use std::path::Path;

use clap::Subcommand;
use serde::Serialize;

use super::exit::{Failure, SUCCESS};
use super::flags::{Globals, With, named};
use crate::audit::{self, Caller, Event};
use crate::credentials::{Capability, NewToken, StoredTokens, TokenStore, id_of};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::{Config, parse_duration};
use haft_render::style::Ink;
use haft_render::table::{self, Column, Fit};
use haft_render::{problem, units};
use haft_tool::{Error, ErrorKind, ToolNames, terminal_text};
use haft_tool::{Tier, Timestamp};

/// Default lifetime of a token.
const LIFETIME: &str = "30d";
/// Maximum lifetime in seconds: a hundred years.
const MAX_LIFETIME: u64 = 100 * 365 * 86_400;

/// Make, list and revoke tokens for `haft serve`
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  haft token new --tools 'git_*,files' --tier read --expires 8h --name ci
  haft token list
  haft token revoke ci

A token works with every `haft serve` of yours, until it expires or is revoked. Its bearer sees and
calls only the tools that it names, and only its own calls, results, tasks and events.")]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    New(With<New>),
    List(With<List>),
    Revoke(With<Revoke>),
}

/// Make a token and print it; it is shown this once
#[derive(clap::Args)]
struct New {
    /// Name of the token
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The tools: patterns of names with commas between them, `!` before those that exclude
    // Not the global option of this name.
    #[arg(
        long = "tools",
        value_name = "GLOBS",
        value_delimiter = ',',
        default_value = "*"
    )]
    names: Vec<String>,

    /// The highest tier of a call
    #[arg(long, value_parser = named([Tier::Read, Tier::Write, Tier::Exec], Tier::as_str), value_name = "TIER", default_value = "read")]
    tier: Tier,

    /// Time that it is valid: 8h, 30d, or never
    #[arg(long, value_name = "TIME", value_parser = lifetime, default_value = LIFETIME)]
    expires: Lifetime,

    /// Also allow sessions of an agent, where the server has them: an agent can do what you can
    #[arg(long)]
    sessions: bool,
}

/// Show the tokens that were made and not revoked
#[derive(clap::Args)]
struct List {
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// Revoke a token: servers that run refuse it, and end what its bearers have, within a second
#[derive(clap::Args)]
struct Revoke {
    /// Its name, its id or the token itself
    token: String,
}

/// Lifetime of a token in seconds; `None` for one that is valid until it is revoked.
#[derive(Clone, Copy, Debug)]
struct Lifetime(Option<u64>);

const COLUMNS: [Column; 6] = [
    Column::new("ID", Fit::Whole),
    Column::new("NAME", Fit::Whole),
    Column::new("TOOLS", Fit::Whole),
    Column::new("TIER", Fit::Whole),
    Column::new("SESSIONS", Fit::Whole),
    Column::new("EXPIRES", Fit::Whole),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenView<'a> {
    id: &'a str,
    name: &'a str,
    tools: &'a [String],
    tier: Tier,
    sessions: bool,
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    expired: bool,
}

impl Args {
    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let config = Config::resolve(globals.flags())?;
        let store = TokenStore::new(&config.state_dir);
        match &self.verb {
            Verb::New(c) => c.args.run(&config, &store, out),
            Verb::List(c) => c.args.run(&store, out),
            Verb::Revoke(c) => c.args.run(&config, &store, out),
        }
    }
}

impl New {
    fn run(&self, config: &Config, store: &TokenStore, out: &mut Out) -> Result<u8, Failure> {
        let tools = self.names.iter().map(|one| one.trim().to_owned()).collect();
        let (token, capability) = store.create(NewToken {
            name: self.name.clone(),
            tools: ToolNames::new(tools)?,
            tier: self.tier,
            sessions: self.sessions,
            lifetime: self.expires.0,
        })?;
        record_new(config, &capability);
        out.print_line(&terminal_text!("{token}"))?;
        out.flush()?;
        say(&terminal_text!(
            "`{}`: {}, {}; it is not shown again\n",
            capability.name,
            scope(&capability),
            match capability.expires {
                Some(_) => format!("until {}", until(&capability)),
                None => "until it is revoked".to_owned(),
            },
        ));
        Ok(SUCCESS)
    }
}

impl List {
    fn run(&self, store: &TokenStore, out: &mut Out) -> Result<u8, Failure> {
        let StoredTokens { tokens, problems } = store.all()?;
        for one in &problems {
            let text = problem::problem(one, Path::new(""), Ink::for_stderr());
            say(&text);
        }
        if self.json {
            let views: Vec<_> = tokens.iter().map(TokenView::from).collect();
            out.json(&views)?;
        } else if tokens.is_empty() {
            out.print_line(&terminal_text!(
                "there are no tokens; `haft token new` makes one"
            ))?;
        } else {
            let rows: Vec<_> = tokens.iter().map(row).collect();
            let page = table::render(&COLUMNS, &rows, out.width(), out.ink());
            out.print(&page)?;
        }
        Ok(SUCCESS)
    }
}

impl Revoke {
    fn run(&self, config: &Config, store: &TokenStore, out: &mut Out) -> Result<u8, Failure> {
        // The user may only have the text of the token.
        let which = id_of(&self.token).unwrap_or(&self.token);
        let revoked = store.revoke(which)?;
        if revoked.is_empty() {
            let token = which.escape_default();
            let text = format!("there is no token `{token}`");
            let error = Error::new(ErrorKind::Usage, text);
            return Err(error.with_hint("`haft token list` shows them").into());
        }
        record_revoked(config, &revoked);
        let count = units::count(revoked.len(), "token");
        out.print_line(&terminal_text!("revoked {count}"))?;
        Ok(SUCCESS)
    }
}

/// Describes the scope of a token for people.
fn scope(one: &Capability) -> String {
    let sessions = if one.sessions {
        ", sessions of an agent"
    } else {
        ""
    };
    let (tools, tier) = (one.tools.patterns().join(","), one.tier.as_str());
    format!("tools {tools}, up to tier {tier}{sessions}")
}

/// Records that a token was made.
pub(super) fn record_new(config: &Config, made: &Capability) {
    let created = Event::TokenCreated {
        token: made.name.clone(),
        scope: Some(scope(made)),
        expires: made.expires.map(|_| until(made)),
        by: Caller::parent("cli"),
    };
    audit::record(config, created);
}

/// Records that tokens were revoked.
pub(super) fn record_revoked(config: &Config, revoked: &[Capability]) {
    for one in revoked {
        let event = Event::TokenRevoked {
            token: one.name.clone(),
            by: Caller::parent("cli"),
        };
        audit::record(config, event);
    }
}

fn row(one: &Capability) -> Vec<String> {
    vec![
        one.id.clone(),
        one.name.clone(),
        one.tools.patterns().join(","),
        one.tier.as_str().to_owned(),
        if one.sessions {
            "yes".to_owned()
        } else {
            "no".to_owned()
        },
        if one.is_expired() {
            "expired".to_owned()
        } else {
            until(one)
        },
    ]
}

fn until(one: &Capability) -> String {
    match one.expires {
        None => "never".to_owned(),
        Some(expires) => {
            let moment = Timestamp::of_seconds(expires);
            format!("{} {} UTC", moment.date(), moment.time())
        }
    }
}

impl<'a> From<&'a Capability> for TokenView<'a> {
    fn from(one: &'a Capability) -> Self {
        TokenView {
            id: &one.id,
            name: &one.name,
            tools: one.tools.patterns(),
            tier: one.tier,
            sessions: one.sessions,
            created_at: one.created,
            expires_at: one.expires,
            expired: one.is_expired(),
        }
    }
}

fn lifetime(text: &str) -> Result<Lifetime, String> {
    if text == "never" {
        return Ok(Lifetime(None));
    }
    let days = text.strip_suffix('d').map(str::parse::<u64>);
    let seconds = match days {
        Some(Ok(days)) => days.saturating_mul(86_400),
        _ => parse_duration(text)
            .map_err(|_| {
                format!("`{text}` is not a time: write it like 8h, 90m or 30d, or `never`")
            })?
            .as_secs(),
    };
    match seconds {
        1..=MAX_LIFETIME => Ok(Lifetime(Some(seconds))),
        _ => Err(format!(
            "`{text}` must be between 1 second and 100 years; `never` is without an end"
        )),
    }
}
