//! A grant: which bytes of a project the user trusts, tool by tool.
//!
//! Two rounds of looking are compared by file and content, never by time. The project may be
//! reached through a link; its own files are named by its real path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::discover::Decisions;
use crate::engine::graph::Graph;

/// Grants of another version are as good as none.
pub(super) const VERSION: u32 = 1;

/// What the user trusts of one project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grant {
    pub(super) version: u32,
    /// The project's real path.
    pub(super) project: String,
    /// Seconds since 1970.
    pub(super) trusted_at: u64,
    /// The hash of its configuration file; `None`: there was none.
    pub(super) config: Option<String>,
    /// What each settings file decides about plugins, features and providers, as a hash.
    #[serde(default)]
    pub(super) settings: BTreeMap<String, String>,
    /// Each tool's file with all files in its module graph.
    pub(super) tools: BTreeMap<String, BTreeSet<String>>,
    /// The hash of each of these files.
    pub(super) files: BTreeMap<String, String>,
    /// If all of this still holds nothing has to be parsed to know that nothing changed.
    // Grants of before this name have other facts, which are not read.
    #[serde(default, rename = "moduleFacts")]
    pub(super) facts: Option<Graph>,
}

/// The files of one tool with their hashes.
pub(super) type Files = BTreeMap<String, String>;

/// A file that is not as it was trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: String,
    /// What happened to it.
    pub how: How,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It was not there, or nothing imported it.
    Added,
    /// Its content is another.
    Modified,
    /// It is gone, or nothing imports it any more.
    Removed,
}

impl How {
    /// As a word behind the file's name.
    pub fn as_str(self) -> &'static str {
        match self {
            How::Added => "new",
            How::Modified => "changed",
            How::Removed => "gone",
        }
    }
}

impl Grant {
    pub(super) fn allows_config(&self, text: &str) -> bool {
        self.config.as_deref() == Some(digest(text).as_str())
    }

    /// The files that were trusted for the tool in `entry`; `None`: there was no such tool.
    pub(super) fn files_of(&self, entry: &str) -> Option<Files> {
        let names = self.tools.get(entry)?;
        let with_hash = |name: &String| {
            let hash = self.files.get(name).cloned().unwrap_or_default();
            (name.clone(), hash)
        };
        Some(names.iter().map(with_hash).collect())
    }
}

/// What is different, in the order of the paths.
pub(super) fn changes(was: &Files, is: &Files) -> Vec<Change> {
    let paths: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let change = |path: &String| {
        let how = match (was.get(path), is.get(path)) {
            (None, _) => How::Added,
            (_, None) => How::Removed,
            (Some(was), Some(is)) if was != is => How::Modified,
            _ => return None,
        };
        Some(Change {
            path: path.clone(),
            how,
        })
    };
    paths.into_iter().filter_map(change).collect()
}

/// The hash of a text that is not in any graph.
pub(super) fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// The real path of a directory; the path itself where there is none.
pub(crate) fn real(directory: &Path) -> PathBuf {
    directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned())
}

/// Names files so that a project has one name for each, however it was reached.
pub(super) struct Names<'a> {
    cwd: &'a Path,
    project: PathBuf,
}

impl<'a> Names<'a> {
    pub(super) fn of(cwd: &'a Path) -> Self {
        Names {
            cwd,
            project: real(cwd),
        }
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// True if the project was reached by its real path.
    pub(super) fn is_direct(&self) -> bool {
        self.cwd == self.project
    }

    /// The file as it is reached by the project's real path.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.cwd) {
            Ok(rest) => self.project.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    pub(super) fn name(&self, path: &Path) -> String {
        text_of(&self.place(path))
    }

    /// The decisions of settings files as a grant holds them.
    pub(super) fn settings(&self, decisions: &[Decisions]) -> BTreeMap<String, String> {
        let decisions = decisions.iter();
        decisions
            .map(|one| (self.name(&one.path), digest(&one.text())))
            .collect()
    }

    pub(super) fn files(&self, graph: &Graph) -> Files {
        let files = graph.files.iter();
        files
            .map(|(path, hash)| (self.name(path), hash.clone()))
            .collect()
    }
}

/// Different paths have different texts, whatever bytes they are made of.
pub(super) fn text_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        // No path holds a zero byte.
        None => {
            let url = Url::from_file_path(path).map_or_else(|()| String::new(), String::from);
            format!("\0{url}")
        }
    }
}
