//! Gemini CLI's commands for tools: `tools.discoveryCommand` and `tools.callCommand` in
//! `~/.gemini/settings.json`, and in `.gemini/settings.json` of the project (dialects 1.6).
//!
//! The candidate is the settings file. Its family runs the first command to learn the tools.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collector::Collector;
use super::context::ScanContext;
use super::{Provider, text};
use haft_config::{Config, paths};
use haft_tool::{Family, Level, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "gemini",
    name: "Gemini CLI",
    family: Family::Gemini,
    places,
    find,
};

/// Commands of a settings file of Gemini CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeminiCommands {
    /// Command that prints the function declarations.
    pub discovery: String,
    /// Program that runs the tool whose name is its argument.
    pub call: Option<String>,
}

impl GeminiCommands {
    /// Reads the commands from the text of a settings file; `None` if it has no discovery command.
    pub fn of(text: &str) -> Option<GeminiCommands> {
        GeminiCommands::in_settings(&text::parse_jsonc(text).ok()?)
    }

    fn in_settings(settings: &Value) -> Option<GeminiCommands> {
        // The older names are at the top of the file.
        let command = |key: &str, older: &str| {
            let tools = settings.get("tools").and_then(|tools| tools.get(key));
            let text = tools.or_else(|| settings.get(older))?.as_str()?;
            (!text.trim().is_empty()).then(|| text.trim().to_owned())
        };
        Some(GeminiCommands {
            discovery: command("discoveryCommand", "toolDiscoveryCommand")?,
            call: command("callCommand", "toolCallCommand"),
        })
    }
}

fn files(config: &Config) -> [(PathBuf, Level); 2] {
    [
        (config.home.join(".gemini/settings.json"), Level::User),
        (config.cwd.join(".gemini/settings.json"), Level::Project),
    ]
}

fn places(config: &Config) -> Vec<PathBuf> {
    files(config).map(|(path, _)| path).to_vec()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for (path, level) in files(context.config) {
        if level == Level::Project && path == context.config.home.join(".gemini/settings.json") {
            // The working directory is the home directory.
            continue;
        }
        let Some(settings) = text::jsonc(&path, collector).value() else {
            continue;
        };
        match GeminiCommands::in_settings(&settings) {
            Some(GeminiCommands { call: Some(_), .. }) => {
                collector.listed(path.clone(), key(&path), level);
            }
            Some(_) => {
                let message =
                    "`tools.discoveryCommand` names tools, and `tools.callCommand` is missing";
                let hint = "add the program that runs the tool named by its argument";
                collector.problem(Problem::warning(message).at(&path).hint(hint));
                collector.ignored(&path, "it has no `tools.callCommand`");
            }
            None => collector.ignored(&path, "it has no `tools.discoveryCommand`"),
        }
    }
}

/// Returns the key of a settings file: its own name would be the same for every file.
fn key(path: &Path) -> String {
    format!("gemini-{}", paths::key(path))
}
