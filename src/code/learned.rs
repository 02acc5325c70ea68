//! Types of results that were observed, for tools that declare none.
//!
//! `haft types --learn` writes them to a file of the user's state, one for each project. They are a
//! statement about the past and never checked.

use std::collections::BTreeMap;

use haft_config::{Config, StateFolder, StatePart};
use haft_tool::types::Observed;

/// Limit of the bytes of a file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The observed types of one project.
#[derive(Default)]
pub(crate) struct Learned(BTreeMap<String, Observed>);

impl Learned {
    /// Reads the types of the project. A file that is missing or unreadable has none.
    pub(crate) fn of(config: &Config) -> Learned {
        let (folder, name) = Learned::file(config);
        let bytes = folder.read(&name, MAX_FILE_BYTES).ok().flatten();
        let types = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Learned(types.unwrap_or_default())
    }

    /// Returns the folder and the name of the file of the project.
    pub(crate) fn file(config: &Config) -> (StateFolder, String) {
        let project = blake3::hash(config.cwd.as_os_str().as_encoded_bytes()).to_hex();
        let name = format!("{}.json", &project[..16]);
        (config.state_dir.folder(StatePart::ResultTypes), name)
    }

    /// Returns the type of the results of a tool.
    pub(super) fn result_of(&self, tool: &str) -> Option<&Observed> {
        self.0.get(tool)
    }
}
