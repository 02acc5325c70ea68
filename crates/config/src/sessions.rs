//! Settings of agent sessions: the program, its working directories, how many run at once.
//!
//! Only the user sets them, because the agent may do what the user may.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::{Env, parse_duration, paths};
use haft_tool::error::{Error, ErrorKind};

/// Default command: Claude Code without a terminal. The prompt is its standard input.
const COMMAND: [&str; 12] = [
    "claude",
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--mcp-config",
    "{mcp_config}",
    "--strict-mcp-config",
    "--allowedTools",
    "{allowed_tools}",
    "--permission-mode",
    "{permission_mode}",
];

/// Default permission mode. It refuses what is not allowed by name, because a session cannot ask a
/// user. aynd itself bypasses all permissions (spec aynd 74); here the user has to say so.
const PERMISSION_MODE: &str = "default";

/// Claude Code's permission modes, the strictest first. A request may use the configured one or one
/// before it.
const MODES: [&str; 5] = [
    "plan",
    "dontAsk",
    "default",
    "acceptEdits",
    "bypassPermissions",
];

/// Default number of sessions at once. Agents are large programs, and each costs its user money.
const MAX_RUNS: usize = 8;

/// Settings of agent sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// True if agent sessions are available.
    pub enabled: bool,
    /// The program and its arguments, with placeholders for the values of each session:
    /// `{mcp_config}`, `{allowed_tools}`, `{permission_mode}`, `{project}`, `{prompt}`.
    pub command: Vec<String>,
    /// The most permissive mode of a session's agent, by the agent's own name for it.
    pub permission_mode: String,
    /// Maximum number of sessions at once.
    pub most: usize,
    /// Maximum duration of a session; `None`: no limit.
    pub timeout: Option<Duration>,
    /// Directories that a session may work in besides the host's directory, absolute.
    pub directories: Vec<PathBuf>,
    /// The `HAFT_*` variables of this process, for the haft that the agent starts.
    pub variables: BTreeMap<String, String>,
}

/// The settings as the user's file has them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionsLayer {
    enabled: Option<bool>,
    command: Option<Vec<String>>,
    permission_mode: Option<String>,
    most: Option<usize>,
    #[serde(deserialize_with = "duration")]
    timeout: Option<Duration>,
    directories: Vec<String>,
}

impl Sessions {
    /// Returns true if a session may run in this mode: the configured one, or one that is known to
    /// be stricter.
    pub fn allows_mode(&self, mode: &str) -> bool {
        let rank = |mode: &str| MODES.iter().position(|known| *known == mode);
        let is_stricter = match (rank(mode), rank(&self.permission_mode)) {
            (Some(wanted), Some(most)) => wanted <= most,
            _ => false,
        };
        is_stricter || mode == self.permission_mode
    }
}

impl SessionsLayer {
    /// Returns the settings with absolute directories. Relative ones start at `base`.
    pub(super) fn anchored(mut self, base: &Path, home: &Path) -> SessionsLayer {
        for directory in &mut self.directories {
            let expanded = paths::expand(directory, home);
            let expanded = expanded.unwrap_or_else(|_| directory.clone().into());
            *directory = paths::resolve(base, &expanded).display().to_string();
        }
        self
    }

    pub(super) fn resolve(self, env: &Env) -> Result<Sessions, Error> {
        let wrong = |text: &str, hint: &str| {
            Err(Error::new(ErrorKind::Usage, format!("sessions.{text}")).with_hint(hint.to_owned()))
        };
        let command = self.command;
        let command = command.unwrap_or_else(|| COMMAND.map(str::to_owned).to_vec());
        if command
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            let hint = "like [claude, -p, --output-format, stream-json, --verbose]";
            return wrong("command is empty: no agent could be started", hint);
        }
        if self.most == Some(0) {
            return wrong(
                "most 0: no session could run",
                "`enabled: false` turns them off",
            );
        }
        // An agent must not get the address and the token of our server.
        let variables = env
            .haft
            .iter()
            .filter(|(name, _)| !name.starts_with("SERVE_"));
        let variables = variables.map(|(name, value)| (format!("HAFT_{name}"), value.clone()));
        Ok(Sessions {
            // Off by default, because an agent may do what its user may.
            enabled: self.enabled.unwrap_or(false),
            command,
            permission_mode: self
                .permission_mode
                .unwrap_or_else(|| PERMISSION_MODE.into()),
            most: self.most.unwrap_or(MAX_RUNS),
            timeout: self.timeout,
            directories: self.directories.into_iter().map(PathBuf::from).collect(),
            variables: variables.collect(),
        })
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let time = text.map(|text| parse_duration(&text).map_err(D::Error::custom));
    match time.transpose()? {
        Some(time) if time.is_zero() => Err(D::Error::custom("it must be more than nothing")),
        time => Ok(time),
    }
}
