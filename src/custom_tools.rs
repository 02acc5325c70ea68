//! oh-my-pi's loader over a [`Host`]: what it is asked, and what it answers (spec omp 1).
//!
//! A thin view for programs that are used to the original; everything is read from the host's catalog.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

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
    /// Who found it; of a path that was given without a source nobody.
    pub source: Option<CustomToolSource>,
}

/// Something that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolLoadError {
    /// The file as it was given or found; empty for what is wrong with no file.
    pub path: PathBuf,
    /// What is wrong.
    pub error: String,
    /// Who found the file, as for [`LoadedCustomTool::source`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<CustomToolSource>,
    /// What to do about it. The original has no such thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A file of tools, for [`load_custom_tools`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ToolPath {
    /// The file, or the folder of a package; relative ones start at the working directory. `~`, `@`
    /// and `file://` mean what they mean in the original.
    pub path: String,
    /// Who found it. It comes back as it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<CustomToolSource>,
}

/// Who found a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
    where_the_original_looks(configured_paths, cwd.as_ref())
        .built_in_tool_names(built_in_tool_names)
        .load_custom_tools()
        .await
}

/// Looks where [`discover_and_load_custom_tools`] looks, and gives the files that it would take, in its
/// order: the original's `discoverCustomToolPaths`. Files are looked at; none is imported and nothing
/// is run, so what is listed may be broken, or no tool at all.
///
/// Files of a project that the user does not trust are listed like all others, since only running them
/// needs trust; where such a file hides one of the same name, both are. Whoever gives the list to
/// [`load_custom_tools`] runs them all, and says with that that the project is trusted:
/// [`discover_and_load_custom_tools`] does not.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where `cwd` is no directory, or the user's
/// configuration is wrong.
pub async fn discover_custom_tool_paths<P: Into<String>>(
    configured_paths: impl IntoIterator<Item = P>,
    cwd: impl AsRef<Path>,
) -> Result<Vec<ToolPath>, Error> {
    where_the_original_looks(configured_paths, cwd.as_ref())
        .discover_custom_tool_paths()
        .await
}

fn where_the_original_looks<P: Into<String>>(
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

/// Loads the modules at `paths`, in this order, and nothing else: the original's `loadCustomTools`.
/// A broken one never stops the others, and no tool gets one of `built_in_tool_names`. Whoever names
/// a file trusts it by that.
///
/// A path comes with its source, or as mere text without one.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where `cwd` is no directory, or the user's
/// configuration is wrong.
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

    /// Looks for files of tools, as [`discover_custom_tool_paths`] does it.
    ///
    /// ```ignore
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

    /// Makes the host and loads the modules at `paths`, as [`load_custom_tools`] does it.
    ///
    /// ```ignore
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

/// As the original's object: `{path, resolvedPath, tool, source?}`.
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
