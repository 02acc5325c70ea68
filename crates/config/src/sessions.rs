//! Settings of agent sessions: the program, its working directories, how many run at once.
//!
//! Only the user sets them, because the agent may do what the user may.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::Env;
use super::declare::{self, Form, Slot, default_settings, directories, replaced, settings, whole};
use haft_tool::error::{Error, ErrorKind};

/// Default command: Claude Code without a terminal. The prompt is its standard input.
const COMMAND: &str = "claude -p --output-format stream-json --verbose --mcp-config {mcp_config} \
                       --strict-mcp-config --allowedTools {allowed_tools} \
                       --permission-mode {permission_mode}";

/// Claude Code's permission modes, the strictest first. A request may use the configured one or one
/// before it.
const MODES: [&str; 5] = [
    "plan",
    "dontAsk",
    "default",
    "acceptEdits",
    "bypassPermissions",
];

settings! {
    /// Settings of agent sessions.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Sessions {
        /// True if agent sessions are available.
        // Off by default, because an agent may do what its user may.
        pub enabled: bool = "false";
        /// The program and its arguments, with placeholders for the values of each session:
        /// `{mcp_config}`, `{allowed_tools}`, `{permission_mode}`, `{project}`, `{prompt}`.
        pub command: Vec<String> = COMMAND => replaced(' ');
        /// The most permissive mode of a session's agent, by the agent's own name for it.
        // It refuses what is not allowed by name, because a session cannot ask a user. aynd itself
        // bypasses all permissions (spec aynd 74); here the user has to say so.
        pub permission_mode: String = "default";
        /// Maximum number of sessions at once.
        // Agents are large programs, and each costs its user money.
        pub most: usize = "8" => whole(1..=u64::from(u32::MAX), "");
        /// Maximum duration of a session. Default: no limit.
        pub timeout: Option<Duration> = "" => timeout;
        /// Directories that a session may work in besides the host's directory.
        pub directories: Vec<PathBuf> = "" => directories;
        computed {
            /// The `HAFT_*` variables of this process, for the haft that the agent starts.
            pub variables: BTreeMap<String, String>,
        }
    }
}
default_settings!(Sessions);

fn timeout(slot: &mut Option<Duration>) -> Slot<'_> {
    declare::scalar(Form::Text, slot, |text| {
        declare::parse_timeout(text).map(Some)
    })
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

    /// Checks the command, and takes the variables from the environment.
    pub(super) fn complete(&mut self, env: &Env) -> Result<(), Error> {
        let program = self.command.first().map(|program| program.trim());
        if program.is_none_or(str::is_empty) {
            let text = "sessions.command is empty: no agent could be started";
            return Err(Error::new(ErrorKind::Usage, text)
                .with_hint("like [claude, -p, --output-format, stream-json, --verbose]"));
        }
        // An agent must not get the address and the token of our server.
        let variables = env.haft.iter();
        let variables = variables.filter(|(name, _)| !name.starts_with("SERVE_"));
        self.variables = variables
            .map(|(name, value)| (format!("HAFT_{name}"), value.clone()))
            .collect();
        Ok(())
    }
}
