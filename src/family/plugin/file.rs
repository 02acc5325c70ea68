//! One plugin file: its head, and its tools one by one.
//!
//! An invalid head loses the file, an invalid tool only itself.

use super::Ground;
use super::definition::{self, Entry};
use super::json::{Fault, Json};

/// Keys of a file. `description` is not used, but many files have it.
const KEYS: [&str; 4] = ["name", "version", "tools", "description"];

/// File with a valid head.
pub(super) struct PluginFile {
    /// The name of the collection.
    pub(super) name: String,
    pub(super) entries: Vec<Entry>,
    /// Warnings for the author.
    pub(super) warnings: Vec<Fault>,
}

/// Reads the text of a file.
pub(super) fn read(text: &str, ground: &Ground) -> Result<PluginFile, Vec<Fault>> {
    let json = Json::parse(text).map_err(|error| vec![not_json(&error)])?;
    let fields = json
        .fields()
        .ok_or_else(|| vec![json.fault("Config must be an object")])?;
    let mut faults = Vec::new();
    let name = fields.string("name").filter(|name| !name.is_empty());
    if name.is_none() {
        let text = "Plugin name is required and must be a non-empty string";
        faults.push(fields.fault("name", text));
    }
    if fields.get("version").is_some() && fields.string("version").is_none() {
        let text = "Plugin version must be a string if provided";
        faults.push(fields.fault("version", text));
    }
    let tools = fields.get("tools").and_then(Json::items);
    match &tools {
        None => faults.push(fields.fault("tools", "Tools must be an array")),
        Some(tools) if tools.is_empty() => {
            faults.push(fields.fault("tools", "Tools array cannot be empty"));
        }
        Some(_) => {}
    }
    match (name, tools) {
        (Some(name), Some(tools)) if faults.is_empty() => {
            let tools = tools.into_iter().enumerate();
            let entries = tools.map(|(index, tool)| definition::read(index, tool, ground));
            Ok(PluginFile {
                name,
                entries: entries.collect(),
                warnings: fields.unknown(&KEYS),
            })
        }
        _ => Err(faults),
    }
}

fn not_json(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Fault {
        place: (number(error.line()), number(error.column())),
        message: format!("Invalid JSON: {}", &text[..end]),
        hint: None,
    }
}
