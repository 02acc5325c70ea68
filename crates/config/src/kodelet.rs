//! Kodelet's `custom_tools:` block: accepted as its users have it, with its own defaults.
//!
//! It is read more leniently than the rest of the configuration. The block may come from a file for
//! another program, so an invalid value is a warning and the default holds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::declare::{self, Field, Form, Origin, Slot, Write, default_settings, replaced};
use super::paths;
use haft_tool::{Problem, known_here};

declare::settings! {
    /// Directories of Kodelet's tools, and the limits of their processes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CustomTools {
        /// False if Kodelet's tools are off: no directory is read and nothing is started.
        pub enabled: bool = "true", env "HAFT_CUSTOM_TOOLS";
        /// Directory of the user's own tools.
        pub global_dir: PathBuf = "~/.kodelet/tools" => directory;
        /// Directory of the project's tools; starts at the working directory. `./.kodelet/tools` is
        /// read as well, unless this is set.
        pub local_dir: PathBuf = "./kodelet-tools" => local_directory;
        /// Maximum duration of a run; a bare number means seconds.
        pub timeout: Duration = "30s" => time;
        /// Maximum number of bytes that are kept of each output.
        pub max_output_size: usize = "1048576" => output_size;
        /// Maximum address space of each process of a tool, in bytes. Not Kodelet's, but ours.
        /// Default: no limit.
        pub max_memory_size: Option<u64> = "" => memory_size;
        /// Variables that are passed to tools, if they are set.
        pub env_whitelist: Vec<String> = "PATH, HOME, USER" => replaced(',');
        computed {
            /// True if a project's configuration names `global_dir`. Its tools then count as the
            /// project's.
            pub global_dir_is_projects: bool,
            /// Newer directory of the project's tools; `None` if the configuration names a
            /// `local_dir`.
            pub dot_local_dir: Option<PathBuf>,
        }
    }
}
default_settings!(CustomTools);

impl CustomTools {
    /// Returns settings that limit nothing, for the limits of a project's file.
    pub(super) fn largest() -> CustomTools {
        CustomTools {
            timeout: Duration::MAX,
            max_output_size: usize::MAX,
            max_memory_size: None,
            env_whitelist: vec![ALL.to_owned()],
            ..CustomTools::default()
        }
    }

    /// Returns the settings with the smaller of both values for each limit.
    #[must_use]
    pub(super) fn narrowed(&self, by: &CustomTools) -> CustomTools {
        let memory = [self.max_memory_size, by.max_memory_size];
        let is_seen = |name: &&String| {
            let allowed = &by.env_whitelist;
            allowed.contains(name) || allowed.iter().any(|allowed| allowed == ALL)
        };
        CustomTools {
            timeout: by.timeout.min(self.timeout),
            max_output_size: by.max_output_size.min(self.max_output_size),
            max_memory_size: memory.into_iter().flatten().min(),
            env_whitelist: self.env_whitelist.iter().filter(is_seen).cloned().collect(),
            ..self.clone()
        }
    }

    /// Takes the limits of `from`.
    pub(super) fn set_bounds(&mut self, from: &CustomTools) {
        self.timeout = from.timeout;
        self.max_output_size = from.max_output_size;
        self.max_memory_size = from.max_memory_size;
        self.env_whitelist.clone_from(&from.env_whitelist);
    }
}

/// Entry of a project's `env_whitelist` that stands for every variable. Not a name of a variable.
const ALL: &str = "*=";

/// Reads the block into its fields. Skips unknown keys and invalid values, and returns warnings
/// about them.
pub(super) fn read(block: &Value, fields: &mut [Field<'_>], origin: &Origin<'_>) -> Read {
    let mut read = Read::default();
    let file = origin.file.unwrap_or(origin.base);
    let not_used = |key: &str, why: &str| {
        Problem::warning(format!("`{key}` is not used: {why}"))
            .at(file)
            .hint("correct it; until then the default holds")
    };
    let Some(entries) = block.as_object() else {
        if !block.is_null() {
            let problem = not_used("custom_tools", "it is not a map of settings");
            read.problems.push(problem);
        }
        return read;
    };
    for (key, value) in entries {
        let Some(field) = fields.iter_mut().find(|field| field.key == key) else {
            let known: Vec<&str> = fields.iter().map(|field| field.key).collect();
            let hint = known_here(key, &known);
            let message = format!("`custom_tools.{key}` means nothing to haft");
            let problem = Problem::warning(message).at(file).hint(hint);
            read.problems.push(problem);
            continue;
        };
        if value.is_null() {
            continue;
        }
        match set(value, &mut field.slot, origin) {
            Ok(()) => {
                let text = value.as_str().map(str::to_owned);
                let text = text.unwrap_or_else(|| value.to_string());
                read.values.push((field.key, text));
            }
            Err(why) => {
                let problem = not_used(&format!("custom_tools.{key}"), &why);
                read.problems.push(problem);
            }
        }
    }
    read
}

/// Result of reading the block.
#[derive(Default)]
pub(super) struct Read {
    /// Keys with valid values.
    pub(super) values: Vec<(&'static str, String)>,
    /// Warnings about the others.
    pub(super) problems: Vec<Problem>,
}

fn set(value: &Value, slot: &mut Slot<'_>, origin: &Origin<'_>) -> Result<(), String> {
    match (&mut slot.write, value) {
        (Write::List { set, .. }, value) => {
            let names = value.as_array().map(|list| list.iter().map(Value::as_str));
            let names = names.and_then(|names| names.collect::<Option<Vec<_>>>());
            let names = names.ok_or("it is not a list of names")?;
            set(names.into_iter().map(str::to_owned).collect(), origin);
            Ok(())
        }
        (_, Value::String(text)) => slot.set_text(text, origin),
        (_, other) if matches!(slot.form, Form::Path) => {
            Err(format!("`{other}` names no directory"))
        }
        (_, Value::Bool(_) | Value::Number(_)) => slot.set_text(&value.to_string(), origin),
        (_, other) => Err(format!("`{other}` is not a single value")),
    }
}

fn directory(slot: &mut PathBuf) -> Slot<'_> {
    declare::placed(Form::Path, |text, origin| {
        *slot = paths::resolve(origin.base, &tilde(text, origin.home)?);
        Ok(())
    })
}

/// A directory that starts at the working directory, whichever file names it.
fn local_directory(slot: &mut PathBuf) -> Slot<'_> {
    declare::placed(Form::Path, |text, origin| {
        *slot = tilde(text, origin.home)?;
        Ok(())
    })
}

/// A duration above zero. A bare number means seconds, although Kodelet's own reader takes it as
/// nanoseconds.
fn time(slot: &mut Duration) -> Slot<'_> {
    declare::scalar(Form::Text, slot, |text| match text.parse() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => declare::parse_timeout(text),
    })
}

fn output_size(slot: &mut usize) -> Slot<'_> {
    declare::scalar(Form::Whole(1..=u64::MAX), slot, |text| {
        usize::try_from(bytes(text)?).map_err(|error| error.to_string())
    })
}

fn memory_size(slot: &mut Option<u64>) -> Slot<'_> {
    declare::scalar(Form::Whole(1..=u64::MAX), slot, |text| {
        bytes(text).map(Some)
    })
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = text.parse().ok().filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("`{text}` is not a number of bytes"))
}

/// Expands `~` and `~/…` to the home directory; `~name` is a plain name.
fn tilde(given: &str, home: &Path) -> Result<PathBuf, String> {
    match Path::new(given).strip_prefix("~") {
        _ if given.is_empty() => Err(format!("`{given}` names no directory")),
        Ok(rest) => Ok(home.join(rest)),
        Err(_) => Ok(given.into()),
    }
}
