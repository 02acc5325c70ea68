//! Origin of a tool: its system, its level, and the party that its code belongs to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Source of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The tool system that it is written for.
    pub family: Family,
    /// The id of the provider that found it (`native`, `claude`, `config`, …).
    pub provider: String,
    /// The provider's name for people.
    pub provider_name: String,
    /// The level that it belongs to.
    pub level: Level,
    /// The path as it was given or found.
    pub path: PathBuf,
    /// The collection of tools that it belongs to, where its file names one.
    pub plugin: Option<String>,
}

/// Tool system whose tools haft runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// TypeScript and JavaScript modules (oh-my-pi, pi).
    Js,
    /// Executables that describe themselves, Kodelet's protocol.
    Kodelet,
    /// Executables that describe themselves, ikigai's protocol.
    Ikigai,
    /// Executables that describe themselves, the protocol of Amp's toolboxes.
    Amp,
    /// Gemini CLI's commands that discover and call tools.
    Gemini,
    /// YAML shell tools (CYCOD).
    Shell,
    /// JSON plugin files (aynd).
    Plugin,
    /// Tools of MCP servers.
    Mcp,
    /// Tools of other hosts.
    Remote,
    /// Tools built into haft or given by the program that embeds it.
    Native,
}

impl Family {
    /// Returns the family's name as surfaces print it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the prefix that the names of the family's tools have, as in the program that they were
    /// written for.
    pub fn prefix(self) -> &'static str {
        match self {
            Family::Kodelet => "custom_tool_",
            Family::Amp => "tb__",
            _ => "",
        }
    }
}

/// Origin of a tool: the user, the project or the embedding program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// From the user's own directories: trusted.
    User,
    /// From the project in the working directory.
    Project,
    /// From the host program itself.
    Host,
}

impl Level {
    /// Returns the level's name as surfaces print it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The party whose code runs in an isolate. Code of different parties never shares one: JavaScript
/// globals, `process.env`, `pi.events` and package state do not cross the border.
///
/// Plugins are third-party code, so they are separated from the user's own tools. They share one
/// isolate with each other, as they share one process in oh-my-pi. One isolate for each would cost
/// about 20 MB of memory per plugin. Each host has its own isolates, so two projects never share
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrustDomain {
    /// The user: their own folders, and every path that they or the embedding program name.
    #[default]
    User,
    /// The plugins that the user installed.
    Plugins,
    /// The project in the host's working directory.
    Project,
}

impl TrustDomain {
    /// Returns the name of the domain in logs; `None` for the user's own.
    pub fn label(self) -> Option<&'static str> {
        match self {
            TrustDomain::User => None,
            TrustDomain::Plugins => Some("plugins"),
            TrustDomain::Project => Some("project"),
        }
    }
}
