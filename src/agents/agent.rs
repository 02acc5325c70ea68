//! The supported agents, and the files in which each configures its MCP servers, by scope.

use std::path::{Path, PathBuf};

use haft_config::Config;

/// A coding agent that speaks MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Agent {
    ClaudeCode,
    Codex,
    Cursor,
    #[strum(serialize = "vscode")]
    VsCode,
    Opencode,
    Opencode2,
    Gemini,
    Pi,
    Omp,
    Copilot,
    Goose,
    Zed,
    Kilo,
    Roo,
    Cline,
    Windsurf,
}

/// Scope of an entry: the users and projects that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Scope {
    /// All users of the project: a file in the checkout.
    Project,
    /// The user, in all projects.
    User,
    /// The user, in this project only: Claude Code has that.
    Local,
}

/// Configuration file of an agent for one scope.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file, which may not exist yet.
    pub(crate) path: PathBuf,
    /// The keys that lead to the object with the servers.
    pub(crate) keys: Vec<String>,
    /// The format of the file.
    pub(crate) format: Format,
    /// Additional property of a new file: a key and its text.
    pub(crate) preamble: Option<(&'static str, &'static str)>,
}

/// Format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, with comments and trailing commas if the agent accepts them.
    Json,
    Toml,
    Yaml,
}

impl Agent {
    pub(crate) const ALL: &[Agent] = <Agent as strum::VariantArray>::VARIANTS;

    /// Returns its name on the command line.
    pub(crate) fn id(self) -> &'static str {
        self.into()
    }

    /// Returns its product name.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "Claude Code",
            Agent::Codex => "Codex",
            Agent::Cursor => "Cursor",
            Agent::VsCode => "VS Code",
            Agent::Opencode => "opencode",
            Agent::Opencode2 => "opencode 2",
            Agent::Gemini => "Gemini CLI",
            Agent::Pi => "pi",
            Agent::Omp => "oh-my-pi",
            Agent::Copilot => "Copilot CLI",
            Agent::Goose => "goose",
            Agent::Zed => "Zed",
            Agent::Kilo => "Kilo Code",
            Agent::Roo => "Roo Code",
            Agent::Cline => "Cline",
            Agent::Windsurf => "Windsurf",
        }
    }

    /// Returns its scopes; the first is the default.
    pub(crate) fn scopes(self) -> &'static [Scope] {
        match self {
            Agent::ClaudeCode => &[Scope::Project, Scope::User, Scope::Local],
            // Codex reads a project's file only after the user has trusted the project.
            Agent::Codex => &[Scope::User, Scope::Project],
            Agent::Goose | Agent::Cline | Agent::Windsurf => &[Scope::User],
            _ => &[Scope::Project, Scope::User],
        }
    }

    /// Returns its configuration file for that scope; `None` if it has no such scope.
    pub(crate) fn place(self, scope: Scope, config: &Config) -> Option<Place> {
        if !self.scopes().contains(&scope) {
            return None;
        }
        let (agents, project) = (&config.agents, &config.cwd);
        let is_users = scope == Scope::User;
        let either = |users: PathBuf, projects: &str| {
            if is_users {
                users
            } else {
                project.join(projects)
            }
        };
        let json = |path: PathBuf, key: &str| Place {
            path,
            keys: vec![key.to_owned()],
            format: Format::Json,
            preamble: None,
        };
        Some(match self {
            Agent::ClaudeCode if scope == Scope::Local => Place {
                keys: vec![
                    "projects".to_owned(),
                    project.display().to_string(),
                    "mcpServers".to_owned(),
                ],
                ..json(agents.claude_json.clone(), "mcpServers")
            },
            Agent::ClaudeCode => json(
                either(agents.claude_json.clone(), ".mcp.json"),
                "mcpServers",
            ),
            Agent::Codex => Place {
                format: Format::Toml,
                ..json(
                    either(agents.codex.join("config.toml"), ".codex/config.toml"),
                    "mcp_servers",
                )
            },
            Agent::Cursor => json(
                either(agents.cursor.join("mcp.json"), ".cursor/mcp.json"),
                "mcpServers",
            ),
            Agent::VsCode => json(
                either(agents.vscode.join("mcp.json"), ".vscode/mcp.json"),
                "servers",
            ),
            Agent::Opencode | Agent::Opencode2 => {
                let folder = if is_users { &agents.opencode } else { project };
                Place {
                    preamble: Some(("$schema", "https://opencode.ai/config.json")),
                    keys: match self {
                        Agent::Opencode2 => vec!["mcp".to_owned(), "servers".to_owned()],
                        _ => vec!["mcp".to_owned()],
                    },
                    ..json(with_comments(&folder.join("opencode")), "mcp")
                }
            }
            Agent::Gemini => json(
                either(agents.gemini.join("settings.json"), ".gemini/settings.json"),
                "mcpServers",
            ),
            Agent::Pi => json(
                either(agents.pi.join("mcp.json"), ".pi/mcp.json"),
                "mcpServers",
            ),
            Agent::Omp => json(
                either(agents.omp.join("mcp.json"), ".omp/mcp.json"),
                "mcpServers",
            ),
            Agent::Copilot => json(
                either(agents.copilot.join("mcp-config.json"), ".github/mcp.json"),
                "mcpServers",
            ),
            Agent::Goose => Place {
                format: Format::Yaml,
                ..json(agents.goose.join("config.yaml"), "extensions")
            },
            Agent::Zed => json(
                either(agents.zed.join("settings.json"), ".zed/settings.json"),
                "context_servers",
            ),
            Agent::Kilo => json(
                with_comments(&either(agents.kilo.join("kilo"), ".kilo/kilo")),
                "mcp",
            ),
            Agent::Roo => json(
                either(
                    agents.vscode.join(
                        "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                    ),
                    ".roo/mcp.json",
                ),
                "mcpServers",
            ),
            Agent::Cline => json(
                agents
                    .vscode
                    .join("globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
                "mcpServers",
            ),
            Agent::Windsurf => json(agents.windsurf.join("mcp_config.json"), "mcpServers"),
        })
    }
}

impl Scope {
    /// Returns its name on the command line.
    pub(crate) fn id(self) -> &'static str {
        self.into()
    }
}

/// Returns the file with the ending `.jsonc` if it exists, and else the one with `.json`. The agent
/// reads both.
fn with_comments(path: &Path) -> PathBuf {
    let file = path.with_extension("jsonc");
    if file.exists() {
        file
    } else {
        path.with_extension("json")
    }
}
