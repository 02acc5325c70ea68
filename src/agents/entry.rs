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
    Http {
        url: String,
        /// The variable that holds the token, in the agent's environment.
        token_variable: Option<String>,
    },
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
            Server::Http {
                url,
                token_variable,
            } => http(agent, url, token_variable.as_deref()),
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

fn http(agent: Agent, url: &str, token_variable: Option<&str>) -> Value {
    let mut entry = match agent {
        Agent::ClaudeCode | Agent::VsCode => json!({"type": "http", "url": url}),
        Agent::Cursor | Agent::Codex => json!({"url": url}),
        Agent::Opencode => json!({"type": "remote", "url": url, "enabled": true}),
        Agent::Gemini => json!({"httpUrl": url}),
    };
    let Some(variable) = token_variable else {
        return entry;
    };
    // Each has its own way to name a variable, so that the token itself is in no file.
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
