//! aynd's tool registry over a [`Host`]: the built-in tools and those of the plugin files.
//!
//! The registry is a view: it owns no tools and runs none. Every answer is read from the host's
//! current catalog. A reload builds the next catalog separately, so a list is always consistent.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::host::Host;
use crate::registry::Catalog;
use haft_config::{Config, Flags};
use haft_tool::Error;
use haft_tool::{Family, Problem, Severity, Tool};

/// Name of the MCP server under which agents see the tools.
pub(crate) const SERVER: &str = "aynd-tools";

/// Version of that server.
const VERSION: &str = "1.0.0";

/// Stands in place of the file in errors without a file.
const BUILT_IN: &str = "builtin";

/// Providers of a host that has only these tools.
const PROVIDERS: [&str; 2] = ["builtin", "aynd"];

/// Registry of the built-in tools and of those in plugin files, for code that uses aynd's API.
///
/// Cheap to clone; all clones are the same registry. Calls go through [`ToolRegistry::host`].
#[derive(Clone)]
pub struct ToolRegistry(Host);

/// Options of a registry. The environment and the configuration files decide all options that are
/// not set.
#[derive(Clone, Debug, Default)]
pub struct RegistryOptions {
    /// The folder with the plugin files; `~/.config/aynd/tools` by default.
    pub plugin_dir: Option<PathBuf>,
    /// The project that the tools work in; the current directory by default.
    pub project_path: Option<PathBuf>,
}

/// Source of a registered tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// Built into haft.
    Builtin,
    /// Declared by a plugin file.
    Plugin,
}

/// Description of a registered tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredToolInfo {
    /// The tool's name.
    pub name: String,
    /// The tool's description.
    pub description: String,
    /// The tool's source.
    pub source: ToolSource,
    /// The collection that it belongs to; only for plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_name: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

/// Result of loading the tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegistrationResult {
    /// True if `errors` is empty.
    pub success: bool,
    /// Number of tools, including the built-in ones.
    pub tool_count: usize,
    /// Errors of tools that could not be registered.
    pub errors: Vec<ToolRegistrationError>,
}

/// Error of a tool that could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegistrationError {
    /// The file's path, or `builtin`.
    pub source: String,
    /// The tool's name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Description of the error.
    pub message: String,
}

/// The registry as an MCP server for an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct McpServerConfig {
    /// `sdk`: the server is in this process.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The server's name, `aynd-tools`.
    pub name: &'static str,
    /// The server's version.
    pub version: &'static str,
    /// All tools.
    pub tools: Vec<RegisteredToolInfo>,
}

impl ToolRegistry {
    /// Creates a registry over a host of its own, which has no other tools.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for a configuration that is wrong.
    pub fn new(options: RegistryOptions) -> Result<ToolRegistry, Error> {
        let config = Config::resolve(Flags {
            cwd: options.project_path,
            aynd_tools_dir: options.plugin_dir,
            ..Flags::default()
        })?;
        Ok(ToolRegistry::with_config(config))
    }

    /// Creates a registry from a configuration. Only the built-in tools and the plugin files are
    /// loaded.
    pub fn with_config(mut config: Config) -> ToolRegistry {
        config.aynd.builtin_tools = true;
        // Other providers would start programs to load their tools, and their tools could take
        // names.
        config
            .disabled_providers
            .retain(|id| !PROVIDERS.contains(&id.as_str()));
        config.only_providers = Some(PROVIDERS.map(str::to_owned).to_vec());
        ToolRegistry(Host::new(config))
    }

    /// Creates a view of the built-in tools and the plugin tools of `host`.
    pub fn over(host: Host) -> ToolRegistry {
        ToolRegistry(host)
    }

    /// Returns the host that runs the tools.
    pub fn host(&self) -> &Host {
        &self.0
    }

    /// Loads the built-in tools and the plugin files, unless they are loaded already.
    pub async fn initialize(&self) -> ToolRegistrationResult {
        result(&self.0.catalog().await)
    }

    /// Searches for the plugin files again. Running calls end with the version that they started
    /// with. Concurrent reloads run one after the other.
    pub async fn reload_plugins(&self) -> ToolRegistrationResult {
        result(&self.0.refresh().await)
    }

    /// Returns all tools, the built-in ones first.
    pub async fn list_tools(&self) -> Vec<RegisteredToolInfo> {
        infos(&self.0.catalog().await)
    }

    /// Returns the description of one tool.
    pub async fn tool_info(&self, name: &str) -> Option<RegisteredToolInfo> {
        info(&self.0.catalog().await.find(name)?.tool)
    }

    /// Returns true if a tool has that name.
    pub async fn has_tool(&self, name: &str) -> bool {
        self.tool_info(name).await.is_some()
    }

    /// Returns the number of tools.
    pub async fn tool_count(&self) -> usize {
        self.list_tools().await.len()
    }

    /// Returns the registry as an MCP server.
    pub async fn mcp_server_config(&self) -> McpServerConfig {
        McpServerConfig {
            kind: "sdk",
            name: SERVER,
            version: VERSION,
            tools: self.list_tools().await,
        }
    }

    /// Returns the names by which an agent allows the tools: `mcp__aynd-tools__<name>`.
    pub async fn allowed_tool_names(&self) -> Vec<String> {
        let tools = self.list_tools().await.into_iter();
        tools.map(|tool| allowed_name(&tool.name)).collect()
    }
}

/// Returns the name by which an agent allows a tool.
pub(crate) fn allowed_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// Returns the tool's name in a name by which an agent allows it.
pub(crate) fn tool_of_allowed(name: &str) -> Option<&str> {
    name.strip_prefix("mcp__")?
        .strip_prefix(SERVER)?
        .strip_prefix("__")
}

fn infos(catalog: &Arc<Catalog>) -> Vec<RegisteredToolInfo> {
    let mut infos: Vec<_> = catalog.tools().filter_map(info).collect();
    infos.sort_by_key(|info| info.source == ToolSource::Plugin);
    infos
}

fn info(tool: &Tool) -> Option<RegisteredToolInfo> {
    let source = match tool.source.family {
        Family::Native if tool.source.provider == BUILT_IN => ToolSource::Builtin,
        Family::Plugin => ToolSource::Plugin,
        _ => return None,
    };
    Some(RegisteredToolInfo {
        name: tool.name.clone(),
        description: tool.description.clone(),
        source,
        plugin_name: tool.source.plugin.clone(),
        input_schema: tool.input_schema.clone(),
    })
}

fn result(catalog: &Arc<Catalog>) -> ToolRegistrationResult {
    let is_ours = |problem: &&Problem| {
        let looked_at = catalog.looked_at.iter();
        let mut ours = looked_at.filter(|it| PROVIDERS.contains(&it.provider.as_str()));
        problem.severity == Severity::Error
            && (problem.path.is_none() || ours.any(|it| Some(&it.path) == problem.path.as_ref()))
    };
    let errors = catalog.problems.iter().filter(is_ours).map(|problem| {
        let path = problem.path.as_ref();
        ToolRegistrationError {
            source: path.map_or(BUILT_IN.to_owned(), |path| path.display().to_string()),
            tool_name: problem.tool_name.clone(),
            message: problem.message.clone(),
        }
    });
    let errors: Vec<_> = errors.collect();
    ToolRegistrationResult {
        success: errors.is_empty(),
        tool_count: infos(catalog).len(),
        errors,
    }
}
