//! Which agents there are, and in which file of which scope each names its MCP servers.

use std::path::PathBuf;

use crate::config::Config;

/// A coding agent that speaks MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    ClaudeCode,
    Codex,
    Cursor,
    VsCode,
    Opencode,
    Gemini,
}

/// Whom an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everybody who checks the project out: a file in it.
    Project,
    /// The user, in all projects.
    User,
    /// The user, in this project: Claude Code has that.
    Local,
}

/// Where an agent looks.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file, which may not be there yet.
    pub(crate) path: PathBuf,
    /// The keys that lead to the object with the servers.
    pub(crate) keys: Vec<String>,
    /// How it is written.
    pub(crate) format: Format,
    /// What a new file says besides: a key and its text.
    pub(crate) preamble: Option<(&'static str, &'static str)>,
}

/// How a configuration file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, with comments and final commas where the agent takes them.
    Json,
    Toml,
}

impl Agent {
    pub(crate) const ALL: [Agent; 6] = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::Cursor,
        Agent::VsCode,
        Agent::Opencode,
        Agent::Gemini,
    ];

    /// How it is named on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::Cursor => "cursor",
            Agent::VsCode => "vscode",
            Agent::Opencode => "opencode",
            Agent::Gemini => "gemini",
        }
    }

    /// How its makers write it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "Claude Code",
            Agent::Codex => "Codex",
            Agent::Cursor => "Cursor",
            Agent::VsCode => "VS Code",
            Agent::Opencode => "opencode",
            Agent::Gemini => "Gemini CLI",
        }
    }

    /// The scopes that it has; the first is the usual one.
    pub(crate) fn scopes(self) -> &'static [Scope] {
        match self {
            Agent::ClaudeCode => &[Scope::Project, Scope::User, Scope::Local],
            // It reads a project's file only after somebody trusted the project.
            Agent::Codex => &[Scope::User, Scope::Project],
            _ => &[Scope::Project, Scope::User],
        }
    }

    /// Where it looks for servers of that scope; `None` if it has no such scope.
    pub(crate) fn place(self, scope: Scope, config: &Config) -> Option<Place> {
        if !self.scopes().contains(&scope) {
            return None;
        }
        let (agents, project) = (&config.agents, &config.cwd);
        let is_users = scope == Scope::User;
        let either = |users: PathBuf, projects: &str| match is_users {
            true => users,
            false => project.join(projects),
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
            Agent::Opencode => {
                let folder = if is_users { &agents.opencode } else { project };
                Place {
                    preamble: Some(("$schema", "https://opencode.ai/config.json")),
                    ..json(opencode_file(folder), "mcp")
                }
            }
            Agent::Gemini => json(
                either(agents.gemini.join("settings.json"), ".gemini/settings.json"),
                "mcpServers",
            ),
        })
    }
}

impl Scope {
    /// How it is named on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
            Scope::Local => "local",
        }
    }
}

/// It reads both names; whoever has one of them keeps it.
fn opencode_file(folder: &std::path::Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    match with_comments.exists() {
        true => with_comments,
        false => folder.join("opencode.json"),
    }
}
