//! Agents' settings for a server: when its tools are loaded, and its timeouts.

use std::time::Duration;

use serde_json::Value;

use super::agent::Agent;
use haft_tool::{Error, ErrorKind};

/// Codex's timeout for the start and the list of tools. Its default of 30 seconds is what one
/// module alone may take to load (`load_timeout`).
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of a call for agents whose own limit is too short for builds and tests. Codex and goose
/// give up a call after 300 seconds (Codex after 60 in older versions), opencode, Kilo Code and pi
/// after 60 seconds without a report, Roo Code and Cline after 60 seconds, oh-my-pi after 30.
/// Gemini CLI's own limit is ten minutes.
const TOOL_TIMEOUT: Duration = Duration::from_secs(600);

/// Settings that flags give; `None` means haft's recommendation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Codex: the first request to the model waits for the tools, and Codex ends if the server does not start.
    pub(crate) required: Option<bool>,
    /// The model gets the whole definition of every tool at once, not only the names.
    pub(crate) always_load: Option<bool>,
    pub(crate) startup_timeout: Option<Duration>,
    pub(crate) tool_timeout: Option<Duration>,
}

/// One setting in an agent's own format.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) value: Value,
    /// True if a flag gave the value, which then replaces the one in the file.
    pub(super) is_given: bool,
}

/// A setting as a flag names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Required,
    AlwaysLoad,
    StartupTimeout,
    ToolTimeout,
}

/// Key and unit of a setting in an agent's file.
struct Form {
    key: &'static str,
    unit: Unit,
    /// The value that is written unless a flag gives one; `None` if the agent's own default is
    /// good.
    recommended: Option<Given>,
}

enum Unit {
    Switch,
    /// The words for on and off.
    Words(&'static str, &'static str),
    Seconds,
    Milliseconds,
}

#[derive(Clone, Copy)]
enum Given {
    Switch(bool),
    Time(Duration),
}

const KINDS: [Kind; 4] = [
    Kind::Required,
    Kind::AlwaysLoad,
    Kind::StartupTimeout,
    Kind::ToolTimeout,
];

impl Settings {
    /// Returns the settings for one agent.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a setting that the agent does not have.
    pub(super) fn of(&self, agent: Agent) -> Result<Vec<Setting>, Error> {
        let mut settings = Vec::new();
        for kind in KINDS {
            let given = self.given(kind);
            let Some(form) = kind.form(agent) else {
                if given.is_some() {
                    return Err(kind.refused(agent));
                }
                continue;
            };
            if let Some(value) = given.or(form.recommended) {
                settings.push(Setting {
                    key: form.key,
                    value: form.unit.write(value),
                    is_given: given.is_some(),
                });
            }
        }
        Ok(settings)
    }

    fn given(&self, kind: Kind) -> Option<Given> {
        match kind {
            Kind::Required => self.required.map(Given::Switch),
            Kind::AlwaysLoad => self.always_load.map(Given::Switch),
            Kind::StartupTimeout => self.startup_timeout.map(Given::Time),
            Kind::ToolTimeout => self.tool_timeout.map(Given::Time),
        }
    }
}

impl Kind {
    fn flag(self) -> &'static str {
        match self {
            Kind::Required => "--required",
            Kind::AlwaysLoad => "--always-load",
            Kind::StartupTimeout => "--startup-timeout",
            Kind::ToolTimeout => "--tool-timeout",
        }
    }

    /// Returns the agent's form of the setting; `None` if it has no such setting.
    fn form(self, agent: Agent) -> Option<Form> {
        let form = |key, unit, recommended| {
            Some(Form {
                key,
                unit,
                recommended,
            })
        };
        let on = Some(Given::Switch(true));
        match (self, agent) {
            (Kind::Required, Agent::Codex) => form("required", Unit::Switch, on),
            (Kind::AlwaysLoad, Agent::ClaudeCode) => form("alwaysLoad", Unit::Switch, on),
            (Kind::AlwaysLoad, Agent::Copilot) => {
                form("deferTools", Unit::Words("never", "auto"), on)
            }
            (Kind::AlwaysLoad, Agent::Pi) => {
                form("exposure", Unit::Words("direct", "deferred"), on)
            }
            (Kind::StartupTimeout, Agent::Codex) => form(
                "startup_timeout_sec",
                Unit::Seconds,
                Some(Given::Time(STARTUP_TIMEOUT)),
            ),
            (Kind::ToolTimeout, Agent::Codex) => form(
                "tool_timeout_sec",
                Unit::Seconds,
                Some(Given::Time(TOOL_TIMEOUT)),
            ),
            (Kind::ToolTimeout, Agent::Pi | Agent::Goose | Agent::Roo | Agent::Cline) => {
                form("timeout", Unit::Seconds, Some(Given::Time(TOOL_TIMEOUT)))
            }
            (Kind::ToolTimeout, Agent::Opencode | Agent::Opencode2 | Agent::Kilo | Agent::Omp) => {
                form(
                    "timeout",
                    Unit::Milliseconds,
                    Some(Given::Time(TOOL_TIMEOUT)),
                )
            }
            (Kind::ToolTimeout, Agent::ClaudeCode | Agent::Gemini) => {
                form("timeout", Unit::Milliseconds, None)
            }
            _ => None,
        }
    }

    fn refused(self, agent: Agent) -> Error {
        let flag = self.flag();
        let able = Agent::ALL
            .iter()
            .filter(|agent| self.form(**agent).is_some());
        let able: Vec<&str> = able.map(|agent| agent.id()).collect();
        let text = format!("{} has no setting for `{flag}`", agent.label());
        Error::new(ErrorKind::Usage, text)
            .with_hint(format!("leave it out; it is for: {}", able.join(", ")))
    }
}

impl Unit {
    fn write(&self, given: Given) -> Value {
        match (self, given) {
            (Unit::Words(on, _), Given::Switch(true)) => Value::from(*on),
            (Unit::Words(_, off), Given::Switch(false)) => Value::from(*off),
            (_, Given::Switch(is_on)) => Value::from(is_on),
            // Rounded up, so that a part of a second does not become zero.
            (Unit::Seconds, Given::Time(time)) => {
                Value::from(time.as_millis().div_ceil(1000) as u64)
            }
            (_, Given::Time(time)) => Value::from(time.as_millis() as u64),
        }
    }
}
