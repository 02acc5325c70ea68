//! oh-my-pi's loader API over a [`Host`], with its functions and its result types (spec omp 1).
//!
//! A thin view for programs that are used to oh-my-pi. All data is read from the host's catalog.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::host::{Host, HostBuilder};
use crate::registry::{Catalog, Entry};
use haft_config::Flags;
use haft_tool::Error;
use haft_tool::{Level, Problem, Severity, Source, Tool, UserInterface};

/// Ids of the providers for the places that oh-my-pi searches.
const PROVIDERS: [&str; 7] = [
    "native",
    "omp-plugins",
    "claude",
    "claude-plugins",
    "codex",
    "plugin",
    "config",
];

/// Result of loading tools.
pub struct LoadedCustomTools {
    /// The tools that can be called, in the order in which they claimed their names.
    pub tools: Vec<LoadedCustomTool>,
    /// Errors of files that could not be loaded. The texts are oh-my-pi's.
    pub errors: Vec<ToolLoadError>,
    host: Host,
}

/// A loaded tool.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedCustomTool {
    /// The file as it was given or found.
    pub path: PathBuf,
    /// The file, absolute; links are not followed.
    pub resolved_path: PathBuf,
    /// The tool's description for callers.
    pub tool: Tool,
    /// The provider that found the file. `None` for a path that was given without a source.
    pub source: Option<CustomToolSource>,
}

/// Error of a file that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolLoadError {
    /// The file as it was given or found; empty if the error does not concern a file.
    pub path: PathBuf,
    /// Description of the error.
    pub error: String,
    /// The provider that found the file, as for [`LoadedCustomTool::source`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<CustomToolSource>,
    /// Instruction that resolves the error. oh-my-pi has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A file of tools, for [`load_custom_tools`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ToolPath {
    /// The file, or the folder of a package. Relative paths start at the working directory. `~`,
    /// `@` and `file://` have the same meaning as in oh-my-pi.
    pub path: String,
    /// The provider that found the file. It is returned unchanged with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<CustomToolSource>,
}

/// Provider that found a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomToolSource {
    /// The provider's id, for example `native` or `config`.
    pub provider: String,
    /// The provider's name for people.
    pub provider_name: String,
    /// The level that the tool belongs to.
    pub level: Level,
}

/// Searches the places that oh-my-pi searches, and loads the tools found there and those at
/// `configured_paths`. A broken tool never prevents others from loading. No tool gets one of the
/// `built_in_tool_names`.
///
/// Tools of the project in `cwd` are loaded if the user trusts the project (`haft trust`).
/// Otherwise each of them is reported as an error. [`HostBuilder::load_custom_tools`] accepts other
/// trust policies.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if `cwd` is not a directory, or if the user's
/// configuration is invalid.
pub async fn discover_and_load_custom_tools<P, N>(
    configured_paths: impl IntoIterator<Item = P>,
    cwd: impl AsRef<Path>,
    built_in_tool_names: impl IntoIterator<Item = N>,
) -> Result<LoadedCustomTools, Error>
where
    P: Into<String>,
    N: Into<String>,
{
    searching_like_omp(configured_paths, cwd.as_ref())
        .built_in_tool_names(built_in_tool_names)
        .load_custom_tools()
        .await
}

/// Returns the files that [`discover_and_load_custom_tools`] would load, in its order: oh-my-pi's
/// `discoverCustomToolPaths`. Nothing is imported or run, so a listed file may be broken or contain
/// no tool.
///
/// Files of a project that the user does not trust are listed too, because only running them needs
/// trust. If such a file shadows another of the same name, both are listed. [`load_custom_tools`]
/// runs every file of the list, so passing the list to it trusts the project.
/// [`discover_and_load_custom_tools`] does not.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if `cwd` is not a directory, or if the user's
/// configuration is invalid.
pub async fn discover_custom_tool_paths<P: Into<String>>(
    configured_paths: impl IntoIterator<Item = P>,
    cwd: impl AsRef<Path>,
) -> Result<Vec<ToolPath>, Error> {
    searching_like_omp(configured_paths, cwd.as_ref())
        .discover_custom_tool_paths()
        .await
}

fn searching_like_omp<P: Into<String>>(
    configured_paths: impl IntoIterator<Item = P>,
    cwd: &Path,
) -> HostBuilder {
    let flags = Flags {
        cwd: Some(cwd.to_owned()),
        ..Flags::default()
    };
    Host::builder()
        .flags(flags)
        .paths(configured_paths)
        .only_providers(PROVIDERS)
}

/// Loads only the modules at `paths`, in this order: oh-my-pi's `loadCustomTools`. A broken module
/// never prevents others from loading. No tool gets one of the `built_in_tool_names`. Naming a file
/// trusts it.
///
/// A path is a [`ToolPath`] with its source, or a plain string without one.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if `cwd` is not a directory, or if the user's
/// configuration is invalid.
pub async fn load_custom_tools<P, N>(
    paths: impl IntoIterator<Item = P>,
    cwd: impl AsRef<Path>,
    built_in_tool_names: impl IntoIterator<Item = N>,
) -> Result<LoadedCustomTools, Error>
where
    P: Into<ToolPath>,
    N: Into<String>,
{
    Host::builder()
        .cwd(cwd.as_ref())
        .built_in_tool_names(built_in_tool_names)
        .load_custom_tools_at(paths)
        .await
}

impl From<&str> for ToolPath {
    fn from(path: &str) -> ToolPath {
        path.to_owned().into()
    }
}

impl From<String> for ToolPath {
    fn from(path: String) -> ToolPath {
        ToolPath { path, source: None }
    }
}

impl HostBuilder {
    /// Builds the host and loads its tools as [`discover_and_load_custom_tools`] does.
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

    /// Searches for files of tools as [`discover_custom_tool_paths`] does.
    ///
    /// ```no_run,standalone_crate
    #[doc = include_str!("../tests/it/examples/paths.rs")]
    /// ```
    ///
    /// # Errors
    /// As [`HostBuilder::build`].
    pub async fn discover_custom_tool_paths(self) -> Result<Vec<ToolPath>, Error> {
        let files = self.build()?.files_to_load().await?;
        let found = files.iter().map(|(path, source)| ToolPath {
            path: path.display().to_string(),
            source: Some(CustomToolSource::from(source)),
        });
        Ok(found.collect())
    }

    /// Builds the host and loads the modules at `paths` as [`load_custom_tools`] does.
    ///
    /// ```no_run,standalone_crate
    #[doc = include_str!("../tests/it/examples/loader.rs")]
    /// ```
    ///
    /// # Errors
    /// As [`HostBuilder::build`].
    pub async fn load_custom_tools_at<P: Into<ToolPath>>(
        self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<LoadedCustomTools, Error> {
        let nowhere: [&str; 0] = [];
        let host = self.only_providers(nowhere).build()?;
        let given: Vec<ToolPath> = paths.into_iter().map(Into::into).collect();
        let texts: Vec<String> = given.iter().map(|given| given.path.clone()).collect();
        let loaded = host.load_paths(&texts).await;
        let source_of = |path: &Path| {
            let given = given.iter().find(|given| Path::new(&given.path) == path);
            given.and_then(|given| given.source.clone())
        };
        let tools = loaded.entries.iter().map(|entry| LoadedCustomTool {
            source: source_of(&entry.tool.source.path),
            ..loaded_tool(entry)
        });
        let problems = loaded.problems.iter();
        let errors = problems.filter(|problem| problem.severity == Severity::Error);
        let errors = errors.map(|problem| ToolLoadError {
            source: problem.path.as_deref().and_then(source_of),
            ..load_error(problem)
        });
        Ok(LoadedCustomTools {
            tools: tools.collect(),
            errors: errors.collect(),
            host,
        })
    }
}

impl LoadedCustomTools {
    /// Sets the user interface that `pi.ui` of these tools reaches from now on; `None` removes it.
    pub fn set_ui_context(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.host.set_default_ui(ui);
    }

    /// Returns the host that runs the tools.
    pub fn host(&self) -> &Host {
        &self.host
    }
}

fn tools(catalog: &Catalog) -> Vec<LoadedCustomTool> {
    let entries = catalog.entries.iter();
    let usable = entries.filter(|entry| entry.tool.trusted);
    usable.map(|entry| loaded_tool(entry)).collect()
}

fn loaded_tool(entry: &Entry) -> LoadedCustomTool {
    LoadedCustomTool {
        path: entry.tool.source.path.clone(),
        resolved_path: entry.resolved_path.clone(),
        tool: (*entry.tool).clone(),
        source: Some(CustomToolSource::from(&entry.tool.source)),
    }
}

/// Returns the errors, and the problems of tools that may not run: oh-my-pi has no tools of the
/// latter kind.
fn errors(catalog: &Catalog) -> Vec<ToolLoadError> {
    let entries = catalog.entries.iter();
    let untrusted = entries.filter(|entry| !entry.tool.trusted);
    let untrusted: Vec<_> = untrusted.map(|entry| &entry.tool.source.path).collect();
    let is_error = |problem: &&Problem| {
        let path = problem.path.as_ref();
        problem.severity == Severity::Error || path.is_some_and(|path| untrusted.contains(&path))
    };
    let errors = catalog.problems.iter().filter(is_error);
    errors.map(load_error).collect()
}

fn load_error(problem: &Problem) -> ToolLoadError {
    ToolLoadError {
        path: problem.path.clone().unwrap_or_default(),
        error: problem.message.clone(),
        source: problem.source.as_deref().map(CustomToolSource::from),
        hint: problem.hint.clone(),
    }
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

/// Serializes as oh-my-pi's object: `{path, resolvedPath, tool, source?}`.
impl Serialize for LoadedCustomTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("LoadedCustomTool", 4)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("resolvedPath", &self.resolved_path)?;
        fields.serialize_field("tool", &Definition(&self.tool))?;
        match &self.source {
            Some(source) => fields.serialize_field("source", source)?,
            None => fields.skip_field("source")?,
        }
        fields.end()
    }
}

/// Serializes a tool with the fields of oh-my-pi's tool object.
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
