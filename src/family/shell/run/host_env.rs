//! Environment of a tool: the host's folders and variables, paths as it writes them, its secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::super::definition::{Datum, Definition, Environment, Platform};
use super::mask::Mask;
use super::values::Values;
use crate::family::rights::{Confinement, Sandboxes};
use haft_engine::Engine;
use haft_process::inherited;
use haft_tool::Timestamp;

/// Settings that all calls of one host share.
#[derive(Clone)]
pub(crate) struct HostEnv {
    pub(crate) cwd: PathBuf,
    pub(crate) home: PathBuf,
    /// The system's folder for temporary files.
    pub(super) temp: PathBuf,
    /// Time between TERM and KILL.
    pub(crate) grace: Duration,
    /// The rights of the tool.
    pub(crate) confinement: Confinement,
    /// The rights of the tools by name, for those that its steps use.
    pub(crate) others: Arc<BTreeMap<String, Confinement>>,
    pub(crate) sandboxes: Arc<Sandboxes>,
    /// Image of containers.
    pub(crate) container_image: String,
    pub(crate) engine: Engine,
}

impl HostEnv {
    /// Returns the settings for the tool `name`, which this tool uses. Its programs have the rights
    /// that both tools have.
    pub(super) fn for_used(&self, name: &str) -> Result<HostEnv, String> {
        let Some(used) = self.others.get(name) else {
            return Ok(self.clone());
        };
        Ok(HostEnv {
            confinement: self.sandboxes.both(&self.confinement, used)?,
            ..self.clone()
        })
    }

    /// Returns the folder for temporary files: that of the sandbox if it has one, else that of the
    /// system.
    pub(crate) fn temp(&self) -> &Path {
        self.confinement.tmp().unwrap_or(&self.temp)
    }
}

pub(super) fn predefined(
    definition: &Definition,
    host_env: &HostEnv,
) -> Vec<(&'static str, String)> {
    // The clock is read once, so that the date and the time fit together.
    let now = Timestamp::now();
    let text = |path: &Path| path.display().to_string();
    vec![
        ("TOOL_NAME", definition.name.clone()),
        ("WORKSPACE", text(&host_env.cwd)),
        ("TEMP", text(host_env.temp())),
        ("HOME", text(&host_env.home)),
        ("OS", Platform::current().as_str().to_owned()),
        ("DATE", now.date()),
        ("TIME", now.time()),
        ("TIMESTAMP", now.timestamp()),
    ]
}

/// Resolves a path as the tool writes it, with `~`, to an absolute one.
pub(super) fn path(definition: &Definition, host_env: &HostEnv, text: &str) -> PathBuf {
    host_env.cwd.join(written_path(definition, host_env, text))
}

pub(super) fn written_path(definition: &Definition, host_env: &HostEnv, text: &str) -> PathBuf {
    let paths = &definition.file_paths;
    let separators = &paths.cross_platform;
    let mut text = text.to_owned();
    if paths.normalize || separators.auto_convert {
        let foreign = separators.windows_separator.as_deref().unwrap_or("\\");
        let own = separators.unix_separator.as_deref().unwrap_or("/");
        if !foreign.is_empty() {
            text = text.replace(foreign, own);
        }
    }
    match text.strip_prefix('~') {
        Some("") => host_env.home.clone(),
        Some(rest) if rest.starts_with('/') => host_env.home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// Returns the values of everything that the tool marks as a secret.
pub(super) async fn secrets(definition: &Definition, values: &Values) -> Mask {
    let environments = definition.steps().iter().map(|step| &step.environment);
    let environments: Vec<&Environment> = environments.chain([&definition.environment]).collect();
    let mut found = Vec::new();
    for name in environments
        .iter()
        .flat_map(|environment| &environment.secrets)
    {
        found.extend(values.secret(name));
        found.extend(inherited(name));
        let variables = environments
            .iter()
            .flat_map(|environment| &environment.variables);
        for (_, text) in variables.filter(|(own, _)| own == name) {
            // A value that cannot be filled is refused where it is used.
            found.extend(values.variable(text).await.ok().flatten());
        }
    }
    Mask::new(found)
}

/// Returns true if any text of the tool refers to a temporary directory although the tool sets
/// none.
pub(super) fn mentions_temp_dir(definition: &Definition) -> bool {
    const NAME: &str = "{TEMP_DIR";
    fn in_datum(value: &Datum) -> bool {
        match value {
            Datum::Text(text) => text.contains(NAME),
            Datum::List(items) => items.iter().any(in_datum),
            Datum::Object(entries) => entries.iter().any(|(_, value)| in_datum(value)),
            Datum::Null | Datum::Bool(_) | Datum::Number(_) => false,
        }
    }
    // The debug form holds every text. A false positive costs only an empty folder.
    format!(
        "{:?}{:?}{:?}",
        definition.work, definition.resources, definition.environment
    )
    .contains(NAME)
        || definition
            .input
            .as_ref()
            .is_some_and(|text| text.contains(NAME))
        || definition
            .working_directory
            .as_ref()
            .is_some_and(|text| text.contains(NAME))
        || definition
            .parameters
            .iter()
            .any(|own| own.default.as_ref().is_some_and(in_datum))
}
