//! Decides whether a module can run in its own isolate without observable differences.
//!
//! Two instances of a module, or of a helper that it shares with another, would have separate
//! states, which a tool's user could observe. So a module is independent only if all of this holds:
//!
//! - No file of its import graph is in another module's graph.
//! - The graph is complete: it has no import that cannot be followed.
//! - No word in its files names state that isolates do not share, or code that runs beside calls.
//!
//! In doubt a module is not independent: it waits instead of moving.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use url::Url;

use super::graph::{Graph, Grapher};

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

/// Cache of the code of each module by its number.
#[derive(Default)]
pub(super) struct ModuleIndependence(HashMap<u32, CodeSet>);

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

impl ModuleIndependence {
    /// True if `module` shares nothing with any other of `all`. Reads files.
    pub(super) fn is_independent(&mut self, module: u32, all: &HashMap<u32, Url>) -> bool {
        let grapher = Grapher::default();
        for (id, url) in all {
            self.0
                .entry(*id)
                .or_insert_with(|| code_set_at(&grapher, url));
        }
        let Some(own) = self.0.get(&module) else {
            return false;
        };
        let has_no_kin = |(id, other): (&u32, &CodeSet)| {
            *id == module || !other.shares_files_with(own) || !all.contains_key(id)
        };
        self.0.iter().all(has_no_kin) && own.uses_no_shared_state()
    }
}

fn code_set_at(grapher: &Grapher, url: &Url) -> CodeSet {
    match url.to_file_path() {
        Ok(path) => CodeSet::of(&grapher.graph(&path)),
        Err(()) => CodeSet {
            files: BTreeSet::new(),
            is_closed: false,
        },
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
