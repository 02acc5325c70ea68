//! oh-my-pi's loader over a [`Host`]: what it is asked, and what it answers (spec omp 1).
//!
//! A thin view for programs that are used to the original; everything is read from the host's catalog.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::config::Flags;
use crate::error::Error;
use crate::host::{Host, HostBuilder};
use crate::registry::{Catalog, Entry};
use crate::tool::{Level, Problem, Severity, Source, Tool, UserInterface};

/// Where the original looks, by the ids of its providers.
const PROVIDERS: [&str; 7] = [
    "native",
    "omp-plugins",
    "claude",
    "claude-plugins",
    "codex",
    "plugin",
    "config",
];

/// What came of loading.
pub struct LoadedCustomTools {
    /// The tools that can be called, in the order of their names' claims.
    pub tools: Vec<LoadedCustomTool>,
    /// What could not be loaded. The texts are the original's.
    pub errors: Vec<ToolLoadError>,
    host: Host,
}

/// A tool that was loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedCustomTool {
    /// The file as it was given or found.
    pub path: PathBuf,
    /// The file, absolute; links are not followed.
    pub resolved_path: PathBuf,
    /// What can be called.
    pub tool: Tool,
    /// Who found it.
    pub source: CustomToolSource,
}

/// Something that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolLoadError {
    /// The file as it was given or found; empty for what is wrong with no file.
    pub path: PathBuf,
    /// What is wrong.
    pub error: String,
    /// What to do about it. The original has no such thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Who found a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomToolSource {
    /// The provider's id, for example `native` or `config`.
    pub provider: String,
    /// The provider's name for people.
    pub provider_name: String,
    /// Whose the tool is.
    pub level: Level,
}

/// Looks where oh-my-pi looks, loads what is there and what `configured_paths` name, and gives tools
/// and errors. A broken tool never stops the others, and no tool gets one of `built_in_tool_names`.
///
/// Tools that the project in `cwd` brings are loaded if the user trusts it (`haft trust`); otherwise
/// each is an error that says so. [`HostBuilder::load_custom_tools`] has the choice.
///
/// The example is `examples/agent.rs`.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where `cwd` is no directory, or the user's
/// configuration is wrong.
pub async fn discover_and_load_custom_tools<P, N>(
    configured_paths: impl IntoIterator<Item = P>,
    cwd: impl AsRef<Path>,
    built_in_tool_names: impl IntoIterator<Item = N>,
) -> Result<LoadedCustomTools, Error>
where
    P: Into<String>,
    N: Into<String>,
{
    let flags = Flags {
        cwd: Some(cwd.as_ref().to_owned()),
        ..Flags::default()
    };
    Host::builder()
        .flags(flags)
        .paths(configured_paths)
        .built_in_tool_names(built_in_tool_names)
        .only_providers(PROVIDERS)
        .load_custom_tools()
        .await
}

impl HostBuilder {
    /// Makes the host and loads its tools, as [`discover_and_load_custom_tools`] does it.
    ///
    /// # Errors
    /// As [`HostBuilder::build`].
    pub async fn load_custom_tools(self) -> Result<LoadedCustomTools, Error> {
        let host = self.build()?;
        let catalog = host.catalog().await;
        Ok(LoadedCustomTools {
            tools: tools(&catalog),
            errors: errors(&catalog),
            host,
        })
    }
}

impl LoadedCustomTools {
    /// Whom `pi.ui` of these tools reaches from now on; `None` is nobody.
    pub fn set_ui_context(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.host.set_ui_context(ui);
    }

    /// The host that runs them.
    pub fn host(&self) -> &Host {
        &self.host
    }
}

fn tools(catalog: &Catalog) -> Vec<LoadedCustomTool> {
    let entries = catalog.entries.iter();
    let usable = entries.filter(|entry| entry.tool.trusted);
    usable.map(|entry| loaded(entry)).collect()
}

fn loaded(entry: &Entry) -> LoadedCustomTool {
    LoadedCustomTool {
        path: entry.tool.source.path.clone(),
        resolved_path: entry.resolved_path.clone(),
        tool: entry.tool.clone(),
        source: CustomToolSource::from(&entry.tool.source),
    }
}

/// Errors, and the tools that may not run: in the original there are none of those.
fn errors(catalog: &Catalog) -> Vec<ToolLoadError> {
    let entries = catalog.entries.iter();
    let untrusted = entries.filter(|entry| !entry.tool.trusted);
    let untrusted: Vec<_> = untrusted.map(|entry| &entry.tool.source.path).collect();
    let is_error = |problem: &&Problem| {
        let path = problem.path.as_ref();
        problem.severity == Severity::Error || path.is_some_and(|path| untrusted.contains(&path))
    };
    let errors = catalog.problems.iter().filter(is_error);
    let errors = errors.map(|problem| ToolLoadError {
        path: problem.path.clone().unwrap_or_default(),
        error: problem.message.clone(),
        hint: problem.hint.clone(),
    });
    errors.collect()
}

impl From<&Source> for CustomToolSource {
    fn from(source: &Source) -> CustomToolSource {
        CustomToolSource {
            provider: source.provider.clone(),
            provider_name: source.provider_name.clone(),
            level: source.level,
        }
    }
}

/// As the original's object: `{path, resolvedPath, tool, source}`.
impl Serialize for LoadedCustomTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LoadedCustomTool", 4)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("resolvedPath", &self.resolved_path)?;
        fields.serialize_field("tool", &Definition(&self.tool))?;
        fields.serialize_field("source", &self.source)?;
        fields.end()
    }
}

/// What the original's tool object says of itself.
struct Definition<'a>(&'a Tool);

impl Serialize for Definition<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tool = self.0;
        let mut fields = serializer.serialize_struct("CustomTool", 7)?;
        fields.serialize_field("name", &tool.name)?;
        fields.serialize_field("label", &tool.label)?;
        fields.serialize_field("description", &tool.description)?;
        fields.serialize_field("parameters", &tool.input_schema)?;
        match tool.strict {
            Some(strict) => fields.serialize_field("strict", &strict)?,
            None => fields.skip_field("strict")?,
        }
        fields.serialize_field("hidden", &tool.hidden)?;
        fields.serialize_field("approval", &tool.approval)?;
        fields.end()
    }
}
