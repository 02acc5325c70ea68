//! aynd's tool registry over a [`Host`]: the built-in tools and those of the plugin files.
//!
//! A thin view: it owns no tool and runs none. Every answer is read from the host's catalog of that
//! moment, so a list is never half old and half new; a reload builds the next catalog aside.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::config::{Config, Flags};
use crate::error::Error;
use crate::host::Host;
use crate::registry::Catalog;
use crate::tool::{Family, Problem, Severity, Tool};

/// The name of the MCP server under which agents see the tools.
pub(crate) const SERVER: &str = "aynd-tools";

/// The version of that server.
const VERSION: &str = "1.0.0";

/// What stands in an error for a file, where there is none.
const BUILT_IN: &str = "builtin";

/// Providers of a host that has nothing but these tools.
const PROVIDERS: [&str; 2] = ["builtin", "aynd"];

/// The built-in tools and those of plugin files, as aynd's own code knows them.
///
/// Cheap to clone; all clones are the same registry. Calls go through [`ToolRegistry::host`].
#[derive(Clone)]
pub struct ToolRegistry(Host);

/// What a registry may be told. What is not said is decided by the environment and the
/// configuration files.
#[derive(Clone, Debug, Default)]
pub struct RegistryOptions {
    /// The folder with the plugin files; `~/.config/aynd/tools` by default.
    pub plugin_dir: Option<PathBuf>,
    /// The project that the tools work in; the current directory by default.
    pub project_path: Option<PathBuf>,
}

/// Where a registered tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// haft has it itself.
    Builtin,
    /// A plugin file declares it.
    Plugin,
}

/// What can be known of a registered tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredToolInfo {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Where it comes from.
    pub source: ToolSource,
    /// The collection that it belongs to; only for plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_name: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

/// What came of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegistrationResult {
    /// False if there is any error.
    pub success: bool,
    /// How many tools there are now, the built-in ones included.
    pub tool_count: usize,
    /// What could not be registered.
    pub errors: Vec<ToolRegistrationError>,
}

/// Something that could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegistrationError {
    /// The file's path, or `builtin`.
    pub source: String,
    /// The tool, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// What is wrong.
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
    /// A registry with a host of its own, which has no other tools.
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

    /// The same from a configuration. Only the built-in tools and the plugin files count.
    pub fn with_config(mut config: Config) -> ToolRegistry {
        config.aynd.builtin_tools = true;
        // Tools of other systems would be run to find out what they are, and could take names.
        config
            .disabled_providers
            .retain(|id| !PROVIDERS.contains(&id.as_str()));
        config.only_providers = Some(PROVIDERS.map(str::to_owned).to_vec());
        ToolRegistry(Host::new(config))
    }

    /// A view of the tools that `host` has of these kinds.
    pub fn over(host: Host) -> ToolRegistry {
        ToolRegistry(host)
    }

    /// The host that runs the tools.
    pub fn host(&self) -> &Host {
        &self.0
    }

    /// Loads the built-in tools and the plugin files, if nothing did that before.
    pub async fn initialize(&self) -> ToolRegistrationResult {
        result(&self.0.catalog().await)
    }

    /// Looks for the plugin files again. Calls that are running end as they began; one reload waits
    /// for another.
    pub async fn reload_plugins(&self) -> ToolRegistrationResult {
        result(&self.0.refresh().await)
    }

    /// All tools, the built-in ones first.
    pub async fn list_tools(&self) -> Vec<RegisteredToolInfo> {
        infos(&self.0.catalog().await)
    }

    /// One tool.
    pub async fn tool_info(&self, name: &str) -> Option<RegisteredToolInfo> {
        info(&self.0.catalog().await.find(name)?.tool)
    }

    /// Whether there is a tool of that name.
    pub async fn has_tool(&self, name: &str) -> bool {
        self.tool_info(name).await.is_some()
    }

    /// How many tools there are.
    pub async fn tool_count(&self) -> usize {
        self.list_tools().await.len()
    }

    /// The registry as an MCP server.
    pub async fn mcp_server_config(&self) -> McpServerConfig {
        McpServerConfig {
            kind: "sdk",
            name: SERVER,
            version: VERSION,
            tools: self.list_tools().await,
        }
    }

    /// The names by which an agent allows the tools: `mcp__aynd-tools__<name>`.
    pub async fn allowed_tool_names(&self) -> Vec<String> {
        let tools = self.list_tools().await.into_iter();
        tools.map(|tool| allowed_name(&tool.name)).collect()
    }
}

/// The name by which an agent allows a tool.
pub(crate) fn allowed_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// The tool that such a name means.
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
