//! Files of a module's code, to tell which modules share state.
//!
//! Two modules share state if they import the same file. A module that names state of its isolate, or
//! code that runs beside calls, may share it with any other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::graph::Graph;

/// Names of state that all modules of one isolate share, and of code that runs beside any call.
const SHARED_STATE_WORDS: [&str; 15] = [
    "BroadcastChannel",
    "createServer",
    "events",
    "global",
    "globalThis",
    "listen",
    "onSession",
    "self",
    "serve",
    "setInterval",
    "watch",
    "watchFile",
    "window",
    "localStorage",
    "locks",
];

/// The files of one module, to compare them with other modules'.
pub struct CodeSet {
    files: BTreeSet<PathBuf>,
    is_closed: bool,
}

impl CodeSet {
    /// Returns the files of the module with this graph.
    pub fn of(graph: &Graph) -> CodeSet {
        let files = graph.files.keys().filter(|file| is_code(file));
        CodeSet {
            files: files.cloned().collect(),
            is_closed: !graph.is_open(),
        }
    }

    /// Returns true if both import the same file, and so share its state.
    pub fn shares_files_with(&self, other: &CodeSet) -> bool {
        !self.files.is_disjoint(&other.files)
    }

    /// Returns true if nothing ties the module to modules with which it shares no file. Reads its
    /// files.
    pub fn uses_no_shared_state(&self) -> bool {
        self.is_closed && !self.files.iter().any(|file| ties(file))
    }
}

/// Returns false for manifests: many modules read them, and they hold no state.
fn is_code(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name != "package.json" && !(name.starts_with("tsconfig") && name.ends_with(".json"))
}

fn ties(file: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else {
        return true;
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.split(|c| !is_word(c))
        .any(|word| SHARED_STATE_WORDS.contains(&word))
}
