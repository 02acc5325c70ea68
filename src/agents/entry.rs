//! How each agent wants a server described.

use serde_json::{Map, Value, json};

use super::agent::{Agent, Format, Place};
use super::settings::{Setting, Settings};
use super::{jsonc, toml};
use crate::error::Error;

/// A server as haft thinks of it.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// A program that the agent starts and talks to over its standard streams.
    Program { command: String, args: Vec<String> },
    /// A server that runs already.
    Http { url: String, token: HttpToken },
}

/// How an agent shows who it is to a server that runs.
#[derive(Clone, Debug)]
pub(crate) enum HttpToken {
    /// The server wants no token.
    None,
    /// This variable in the agent's environment holds it, so that it is in no file.
    Variable(String),
    /// The token itself, for a file that only its user can read.
    Text(String),
}

/// Keys that say what the server is. An entry that is there already keeps all others.
pub(super) const OWN_KEYS: [&str; 6] = [
    "type",
    "command",
    "args",
    "url",
    "httpUrl",
    "bearer_token_env_var",
];

/// Where Codex keeps headers whose values stand in the file.
pub(super) const STATIC_HEADERS: &str = "http_headers";

/// What an agent's configuration says about one server.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Who the server is. It replaces what an older entry says.
    pub(super) server: Map<String, Value>,
    /// How the agent treats it. What an older entry says stays, unless a flag gave the value.
    pub(super) settings: Vec<Setting>,
}

impl Entry {
    /// The whole entry, as a new one is written.
    pub(super) fn whole(&self) -> Map<String, Value> {
        let settings = self.settings.iter();
        let settings = settings.map(|setting| (setting.key.to_owned(), setting.value.clone()));
        self.server.clone().into_iter().chain(settings).collect()
    }
}

impl Server {
    /// The entry in the agent's own form, with what the agent is to be told besides.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::error::ErrorKind::Usage) for a setting that the agent does not have.
    pub(crate) fn entry(&self, agent: Agent, settings: &Settings) -> Result<Entry, Error> {
        Ok(Entry {
            server: self.identity(agent),
            settings: settings.of(agent)?,
        })
    }

    /// What says who the server is, in the agent's own form.
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

fn program(agent: Agent, command: &str, args: &[String]) -> Value {
    match agent {
        Agent::ClaudeCode | Agent::Cursor | Agent::VsCode => {
            json!({"type": "stdio", "command": command, "args": args})
        }
        Agent::Codex | Agent::Gemini => json!({"command": command, "args": args}),
        Agent::Opencode => {
            let words: Vec<&str> = std::iter::once(command)
                .chain(args.iter().map(String::as_str))
                .collect();
            json!({"type": "local", "command": words, "enabled": true})
        }
    }
}

fn http(agent: Agent, url: &str, token: &HttpToken) -> Value {
    let mut entry = match agent {
        Agent::ClaudeCode | Agent::VsCode => json!({"type": "http", "url": url}),
        Agent::Cursor | Agent::Codex => json!({"url": url}),
        Agent::Opencode => json!({"type": "remote", "url": url, "enabled": true}),
        Agent::Gemini => json!({"httpUrl": url}),
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
    // Each has its own way to name a variable.
    let reference = match agent {
        Agent::Codex => {
            entry["bearer_token_env_var"] = json!(variable);
            return entry;
        }
        Agent::ClaudeCode | Agent::Gemini => format!("${{{variable}}}"),
        Agent::Cursor | Agent::VsCode => format!("${{env:{variable}}}"),
        Agent::Opencode => format!("{{env:{variable}}}"),
    };
    entry["headers"] = json!({"Authorization": format!("Bearer {reference}")});
    entry
}

/// A whole file that has nothing but this entry, for people to copy from.
pub(crate) fn snippet(place: &Place, name: &str, entry: &Entry) -> String {
    match place.format {
        Format::Json => jsonc::alone(&place.keys, name, &entry.whole()),
        Format::Toml => toml::alone(&place.keys, name, entry),
    }
}

/// The same for an agent that is told of its servers in a file of its own.
pub(crate) fn own_file(name: &str, entry: &Map<String, Value>) -> String {
    jsonc::alone(&["mcpServers".to_owned()], name, entry)
}
