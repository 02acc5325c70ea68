//! Kodelet's `custom_tools:` block: accepted as its users have it, with its own defaults.
//!
//! It is read more leniently than the rest of the configuration. The block may come from a file for
//! another program, so an invalid value is a warning and the default holds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::layers::yes_or_no;
use super::{parse_duration, paths};
use haft_tool::{Problem, suggest};

const KEYS: &[&str] = &[
    "enabled",
    "global_dir",
    "local_dir",
    "timeout",
    "max_output_size",
    "max_memory_size",
    "env_whitelist",
];

/// Directories of Kodelet's tools, and the limits of their processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomTools {
    /// False if Kodelet's tools are off: no directory is read and nothing is started.
    pub enabled: bool,
    /// The user's own tools.
    pub global_dir: PathBuf,
    /// True if a project's configuration names `global_dir`. Its tools then count as the project's.
    pub global_dir_is_projects: bool,
    /// The project's tools.
    pub local_dir: PathBuf,
    /// Newer directory of the project's tools; `None` if the configuration names a `local_dir`.
    pub dot_local_dir: Option<PathBuf>,
    /// Maximum duration of a run.
    pub timeout: Duration,
    /// Maximum number of bytes that are kept of each output.
    pub max_output_size: usize,
    /// Maximum address space of each process of a tool, in bytes; `None`: no limit.
    pub max_memory_size: Option<u64>,
    /// Variables that are passed to tools, if they are set.
    pub env_whitelist: Vec<String>,
}

/// The block as one layer has it.
#[derive(Debug, Default)]
pub(super) struct CustomToolsLayer {
    enabled: Option<bool>,
    global_dir: Option<PathBuf>,
    global_dir_is_projects: bool,
    local_dir: Option<PathBuf>,
    timeout: Option<Duration>,
    max_output_size: Option<usize>,
    max_memory_size: Option<u64>,
    env_whitelist: Option<Vec<String>>,
}

/// Limits that a project's block sets for the project's executables.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    timeout: Option<Duration>,
    max_output_size: Option<usize>,
    max_memory_size: Option<u64>,
    env_whitelist: Option<Vec<String>>,
}

impl CustomTools {
    /// Returns the settings with the smaller of both values for each limit.
    #[must_use]
    pub(super) fn narrowed(&self, by: &Bounds) -> CustomTools {
        let memory = [self.max_memory_size, by.max_memory_size];
        let is_seen =
            |name: &&String| (by.env_whitelist.as_ref()).is_none_or(|list| list.contains(name));
        CustomTools {
            timeout: by.timeout.map_or(self.timeout, |own| own.min(self.timeout)),
            max_output_size: (by.max_output_size)
                .map_or(self.max_output_size, |own| own.min(self.max_output_size)),
            max_memory_size: memory.into_iter().flatten().min(),
            env_whitelist: self.env_whitelist.iter().filter(is_seen).cloned().collect(),
            ..self.clone()
        }
    }
}

/// File of a block. Relative paths and trust depend on it.
#[derive(Clone, Copy)]
pub(super) struct ConfigSource<'a> {
    pub file: &'a Path,
    /// Base of a relative `global_dir`.
    pub base: &'a Path,
    pub home: &'a Path,
    pub is_projects: bool,
}

impl CustomToolsLayer {
    /// Returns a layer that only turns the tools on or off.
    pub(super) fn switched(enabled: Option<bool>) -> Self {
        CustomToolsLayer {
            enabled,
            ..CustomToolsLayer::default()
        }
    }

    /// Reads the block. Skips invalid values and adds them to `problems`.
    pub(super) fn read(block: &Value, at: ConfigSource<'_>, problems: &mut Vec<Problem>) -> Self {
        let mut reader = Reader { at, problems };
        let Some(block) = block.as_object() else {
            if !block.is_null() {
                reader.warn("custom_tools", "it is not a map of settings");
            }
            return CustomToolsLayer::default();
        };
        reader.check_keys(block);
        let global_dir = reader.take(block, "global_dir", directory);
        CustomToolsLayer {
            enabled: reader.take(block, "enabled", boolean),
            global_dir_is_projects: global_dir.is_some() && at.is_projects,
            global_dir: global_dir.map(|dir| anchored(&dir, at.base, at.home)),
            local_dir: reader
                .take(block, "local_dir", directory)
                .map(|dir| tilde(&dir, at.home)),
            timeout: reader.take(block, "timeout", time),
            max_output_size: reader.take(block, "max_output_size", size),
            max_memory_size: reader
                .take(block, "max_memory_size", size)
                .map(|n| n as u64),
            env_whitelist: reader.take(block, "env_whitelist", names),
        }
    }

    /// Takes the limits out of the block. A project's block can limit only its own tools, and
    /// cannot turn tools on.
    pub(super) fn take_bounds(&mut self) -> Bounds {
        self.enabled = self.enabled.filter(|enabled| !enabled);
        Bounds {
            timeout: self.timeout.take(),
            max_output_size: self.max_output_size.take(),
            max_memory_size: self.max_memory_size.take(),
            env_whitelist: self.env_whitelist.take(),
        }
    }

    /// Takes the values from `lower` that this layer does not set.
    pub(super) fn merge_from(&mut self, lower: Self) {
        self.enabled = self.enabled.or(lower.enabled);
        if self.global_dir.is_none() {
            self.global_dir = lower.global_dir;
            self.global_dir_is_projects = lower.global_dir_is_projects;
        }
        self.local_dir = self.local_dir.take().or(lower.local_dir);
        self.timeout = self.timeout.or(lower.timeout);
        self.max_output_size = self.max_output_size.or(lower.max_output_size);
        self.max_memory_size = self.max_memory_size.or(lower.max_memory_size);
        self.env_whitelist = self.env_whitelist.take().or(lower.env_whitelist);
    }

    /// Resolves the block with the defaults of the document (kodelet 49).
    pub(super) fn resolve(self, home: &Path, cwd: &Path) -> CustomTools {
        let default = || ["PATH", "HOME", "USER"].map(str::to_owned).to_vec();
        let dot_local_dir = self.local_dir.is_none().then(|| cwd.join(".kodelet/tools"));
        let local_dir = self.local_dir.unwrap_or_else(|| "kodelet-tools".into());
        CustomTools {
            enabled: self.enabled.unwrap_or(true),
            global_dir: self
                .global_dir
                .unwrap_or_else(|| home.join(".kodelet/tools")),
            global_dir_is_projects: self.global_dir_is_projects,
            local_dir: paths::resolve(cwd, &local_dir),
            dot_local_dir,
            timeout: self.timeout.unwrap_or(Duration::from_secs(30)),
            max_output_size: self.max_output_size.unwrap_or(1 << 20),
            max_memory_size: self.max_memory_size,
            env_whitelist: self.env_whitelist.unwrap_or_else(default),
        }
    }
}

struct Reader<'a> {
    at: ConfigSource<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// Returns the setting of that name, if it is set and valid.
    fn take<T>(
        &mut self,
        block: &Map<String, Value>,
        key: &str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = block.get(key).filter(|value| !value.is_null())?;
        match read(value) {
            Ok(value) => Some(value),
            Err(why) => {
                self.warn(&format!("custom_tools.{key}"), &why);
                None
            }
        }
    }

    fn check_keys(&mut self, block: &Map<String, Value>) {
        for key in block.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let message = format!("`custom_tools.{key}` means nothing to haft");
            let hint = match suggest(key, KEYS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", KEYS.join(", ")),
            };
            let problem = Problem::warning(message).at(self.at.file).hint(hint);
            self.problems.push(problem);
        }
    }

    fn warn(&mut self, key: &str, why: &str) {
        let message = format!("`{key}` is not used: {why}");
        let problem = Problem::warning(message).at(self.at.file);
        self.problems
            .push(problem.hint("correct it; until then the default holds"));
    }
}

fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(word) => yes_or_no(word),
        other => Err(format!("`{other}` is neither true nor false")),
    }
}

/// Parses a duration. A bare number means seconds, although Kodelet's own reader takes it as
/// nanoseconds.
fn time(value: &Value) -> Result<Duration, String> {
    let time = match value {
        Value::String(text) => parse_duration(text)?,
        Value::Number(number) => Duration::from_secs(number.as_u64().ok_or_else(|| {
            format!("`{number}` is not a duration: write it like 30s, 500ms or 1m30s")
        })?),
        other => return Err(format!("`{other}` is not a duration")),
    };
    if time.is_zero() {
        Err("it must be more than nothing".to_owned())
    } else {
        Ok(time)
    }
}

fn size(value: &Value) -> Result<usize, String> {
    let bytes = value.as_u64().filter(|bytes| *bytes > 0);
    bytes
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| format!("`{value}` is not a number of bytes"))
}

fn directory(value: &Value) -> Result<PathBuf, String> {
    match value.as_str() {
        Some("") | None => Err(format!("`{value}` names no directory")),
        Some(path) => Ok(PathBuf::from(path)),
    }
}

fn names(value: &Value) -> Result<Vec<String>, String> {
    let refuse = || "it is not a list of names".to_owned();
    let list = value.as_array().ok_or_else(refuse)?;
    let texts = list.iter().map(|name| name.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().ok_or_else(refuse)
}

/// Expands `~` and `~/…` to the home directory; `~name` is a plain name.
fn tilde(path: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    }
}

pub(super) fn anchored(path: &Path, base: &Path, home: &Path) -> PathBuf {
    paths::resolve(base, &tilde(path, home))
}
