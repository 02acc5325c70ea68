//! Description of a server in the format of each agent.

use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::settings::{Setting, Settings};
use haft_tool::place_after;
use haft_tool::{Error, ErrorKind};

/// An MCP server, independent of the agent.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// A program that the agent starts and talks to over its standard streams.
    Program { command: String, args: Vec<String> },
    /// A running server.
    Http { url: String, token: HttpToken },
}

/// Authentication of an agent at a running server.
#[derive(Clone, Debug)]
pub(crate) enum HttpToken {
    /// The server needs no token.
    None,
    /// An environment variable of the agent holds the token, so that it is in no file.
    Variable(String),
    /// The token itself, for a file that only its user can read.
    Text(String),
}

/// Keys that identify the server. An existing entry keeps all others.
pub(super) const OWN_KEYS: [&str; 9] = [
    "type",
    "command",
    "cmd",
    "args",
    "url",
    "uri",
    "httpUrl",
    "serverUrl",
    "bearer_token_env_var",
];

/// Codex's key for headers whose values are in the file.
pub(super) const STATIC_HEADERS: &str = "http_headers";

/// Configuration of one server in an agent's file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The keys that identify the server. They replace those of an older entry.
    pub(super) server: Map<String, Value>,
    /// The agent's settings for the server. An older entry keeps its values unless a flag gives
    /// one.
    pub(super) settings: Vec<Setting>,
}

impl Entry {
    /// Returns the whole entry, as a new one is written.
    pub(super) fn whole(&self) -> Map<String, Value> {
        let settings = self.settings.iter();
        let settings = settings.map(|setting| (setting.key.to_owned(), setting.value.clone()));
        self.server.clone().into_iter().chain(settings).collect()
    }
}

impl Server {
    /// Returns the entry under this name in the agent's own form, with the agent's settings.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a setting that the agent does not have, and for a token in a
    /// variable that the agent cannot read.
    pub(crate) fn entry(
        &self,
        agent: Agent,
        name: &str,
        settings: &Settings,
    ) -> Result<Entry, Error> {
        let mut entry = Entry {
            server: self.identity(agent),
            settings: settings.of(agent)?,
        };
        let variable = match self {
            Server::Http {
                token: HttpToken::Variable(variable),
                ..
            } => Some(variable),
            _ => None,
        };
        match (agent, variable) {
            (Agent::Zed | Agent::Cline, Some(_)) => return Err(no_variables(agent)),
            (Agent::Goose, variable) => {
                entry.server.insert("name".to_owned(), name.into());
                // Only these variables are replaced in headers.
                entry.settings.extend(variable.map(|variable| Setting {
                    key: "env_keys",
                    value: json!([variable]),
                    is_given: false,
                }));
            }
            _ => {}
        }
        Ok(entry)
    }

    /// Returns the keys that identify the server, in the agent's own form.
    pub(crate) fn identity(&self, agent: Agent) -> Map<String, Value> {
        let value = match self {
            Server::Program { command, args } => program(agent, command, args),
            Server::Http { url, token } => http(agent, url, token),
        };
        match value {
            Value::Object(entry) => entry,
            _ => Map::new(),
        }
    }
}

fn no_variables(agent: Agent) -> Error {
    let text = format!("{} does not read a token from a variable", agent.label());
    Error::new(ErrorKind::Usage, text).with_hint(
        "`--scope user --write` makes a token in your own file; for a server without one there is --no-token",
    )
}

fn program(agent: Agent, command: &str, args: &[String]) -> Value {
    match agent {
        Agent::ClaudeCode | Agent::Cursor | Agent::VsCode => {
            json!({"type": "stdio", "command": command, "args": args})
        }
        Agent::Roo | Agent::Cline => {
            json!({"type": "stdio", "command": command, "args": args, "disabled": false})
        }
        Agent::Codex | Agent::Gemini | Agent::Pi | Agent::Omp | Agent::Zed | Agent::Windsurf => {
            json!({"command": command, "args": args})
        }
        Agent::Copilot => {
            json!({"type": "local", "command": command, "args": args, "tools": ["*"]})
        }
        Agent::Goose => json!({"enabled": true, "type": "stdio", "cmd": command, "args": args}),
        Agent::Opencode | Agent::Opencode2 | Agent::Kilo => {
            let words: Vec<&str> = std::iter::once(command)
                .chain(args.iter().map(String::as_str))
                .collect();
            json!({"type": "local", "command": words, "enabled": true})
        }
    }
}

fn http(agent: Agent, url: &str, token: &HttpToken) -> Value {
    let mut entry = match agent {
        Agent::ClaudeCode | Agent::VsCode | Agent::Omp => json!({"type": "http", "url": url}),
        Agent::Copilot => json!({"type": "http", "url": url, "tools": ["*"]}),
        Agent::Cursor | Agent::Codex | Agent::Pi | Agent::Zed => json!({"url": url}),
        Agent::Opencode | Agent::Opencode2 | Agent::Kilo => {
            json!({"type": "remote", "url": url, "enabled": true})
        }
        Agent::Gemini => json!({"httpUrl": url}),
        Agent::Goose => json!({"enabled": true, "type": "streamable_http", "uri": url}),
        Agent::Roo => json!({"type": "streamable-http", "url": url, "disabled": false}),
        Agent::Cline => json!({"type": "streamableHttp", "url": url, "disabled": false}),
        Agent::Windsurf => json!({"serverUrl": url}),
    };
    let variable = match token {
        HttpToken::None => return entry,
        HttpToken::Text(token) => {
            let key = match agent {
                Agent::Codex => STATIC_HEADERS,
                _ => "headers",
            };
            entry[key] = json!({"Authorization": format!("Bearer {token}")});
            return entry;
        }
        HttpToken::Variable(variable) => variable,
    };
    // Each agent has its own syntax for a variable.
    let reference = match agent {
        Agent::Codex => {
            entry["bearer_token_env_var"] = json!(variable);
            return entry;
        }
        Agent::ClaudeCode
        | Agent::Gemini
        | Agent::Pi
        | Agent::Omp
        | Agent::Copilot
        | Agent::Goose => format!("${{{variable}}}"),
        Agent::Cursor | Agent::VsCode | Agent::Roo | Agent::Windsurf => {
            format!("${{env:{variable}}}")
        }
        Agent::Opencode | Agent::Opencode2 | Agent::Kilo => format!("{{env:{variable}}}"),
        // Refused by `Server::entry`.
        Agent::Zed | Agent::Cline => return entry,
    };
    entry["headers"] = json!({"Authorization": format!("Bearer {reference}")});
    entry
}

/// Reason why a text is not changed.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Line and column, from 1.
    pub(super) place: Option<(usize, usize)>,
    pub(super) message: String,
}

impl Refusal {
    /// Makes a refusal. `before` is the text in front of the position, if it is known.
    pub(super) fn at(before: Option<&str>, message: &str) -> Refusal {
        let place = before.map(place_after);
        let message = message.trim().trim_end_matches('.').replace('\n', ", ");
        Refusal { place, message }
    }
}
