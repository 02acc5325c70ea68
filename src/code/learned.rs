//! Types of results that were observed, for tools that declare none.
//!
//! `haft types --learn` writes them to a file of the user's state, one for each project. They are a
//! statement about the past and never checked.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use haft_config::Config;
use haft_tool::types::Observed;

/// The observed types of one project.
#[derive(Default)]
pub(crate) struct Learned(BTreeMap<String, Observed>);

impl Learned {
    /// Reads the types of the project. A file that is missing or unreadable has none.
    pub(crate) fn of(config: &Config) -> Learned {
        let text = fs::read_to_string(Learned::file(config));
        let types = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        Learned(types.unwrap_or_default())
    }

    /// Returns the file of the project.
    pub(crate) fn file(config: &Config) -> PathBuf {
        let project = blake3::hash(config.cwd.as_os_str().as_encoded_bytes()).to_hex();
        let name = format!("{}.json", &project[..16]);
        config.state_dir.join("result-types").join(name)
    }

    /// Returns the type of the results of a tool.
    pub(super) fn result_of(&self, tool: &str) -> Option<&Observed> {
        self.0.get(tool)
    }
}
