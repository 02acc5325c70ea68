//! Files of the project that the commands of a YAML tool start. They belong to what the user trusts.
//!
//! Only `run`, its fallbacks and the shell of a `script` name programs word by word. The text of a
//! shell command is the tool's own.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::load::text_at;
use super::run::words::words;
use crate::family::tool_command::template_words;
use haft_config::{Config, yaml};
use haft_discover::Candidate;
use haft_process::project_files;
use haft_shell_quote::programs::HOLE;

/// Keys whose text is split into words.
const COMMAND_KEYS: [&str; 3] = ["run", "fallback", "shell"];

/// Returns the files of the project that a YAML tool starts.
pub(crate) fn named_files(config: &Config, candidate: &Candidate) -> Vec<PathBuf> {
    let text = text_at(&candidate.path, &candidate.resolved);
    let definition = text.ok().and_then(|text| yaml::parse(&text).ok());
    let mut files = Vec::new();
    if let Some(Value::Object(fields)) = &definition {
        visit(config, fields, &config.cwd, &mut files);
    }
    files
}

/// Adds the files that the commands in an object start, from a working directory.
fn visit(config: &Config, fields: &Map<String, Value>, folder: &Path, files: &mut Vec<PathBuf>) {
    let own = fields.get("working-directory").and_then(Value::as_str);
    let own = own.map(|own| config.cwd.join(with_workspace(config, own)));
    let folder = own.as_deref().unwrap_or(folder);
    for (key, value) in fields {
        match value {
            Value::String(text) if COMMAND_KEYS.contains(&&**key) => {
                files.extend(files_of(config, text, folder));
            }
            Value::Object(fields) => visit(config, fields, folder, files),
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_object);
                items.for_each(|fields| visit(config, fields, folder, files));
            }
            _ => {}
        }
    }
}

fn files_of(config: &Config, text: &str, folder: &Path) -> Vec<PathBuf> {
    let words = words(text).unwrap_or_default();
    let filled: Vec<String> = words
        .iter()
        .map(|word| with_workspace(config, word))
        .collect();
    let with_hole = |word: &String| {
        if word.contains('{') {
            HOLE.to_string()
        } else {
            word.clone()
        }
    };
    let texts: Vec<String> = words.iter().map(with_hole).collect();
    let words = template_words(&texts, filled);
    project_files(&config.cwd, folder, &words)
}

/// Returns the text with the reference to the project's folder filled, the only one whose value is
/// known before a call.
fn with_workspace(config: &Config, text: &str) -> String {
    text.replace("{WORKSPACE}", &config.cwd.display().to_string())
}
