//! Whether a module can live away from the others without anybody noticing.
//!
//! Two instances of a module, or a module and the helper that it shares with another, would show a
//! tool's user two states. So a module is independent only if nothing of its graph is in another
//! module's, nothing is hidden from the graph, and no word in it means what isolates do not share
//! or what goes on by itself. In doubt it is not: it waits, which is slow but never wrong.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use url::Url;

use super::graph::{Graph, Grapher};

/// What all modules of one isolate share, and what lives on beside any call.
const TYING_WORDS: [&str; 15] = [
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

/// What is known of modules; the answer for one module is found once.
#[derive(Default)]
pub(super) struct Kinship(HashMap<u32, Kin>);

/// The code of one module, as far as it matters who else has it.
pub struct Kin {
    files: BTreeSet<PathBuf>,
    is_closed: bool,
}

impl Kin {
    /// That of the module with this graph.
    pub fn of(graph: &Graph) -> Kin {
        let files = graph.files.keys().filter(|file| is_code(file));
        Kin {
            files: files.cloned().collect(),
            is_closed: !graph.is_open(),
        }
    }

    /// Whether both import the same file, so that they share what it remembers.
    pub fn is_kin_of(&self, other: &Kin) -> bool {
        !self.files.is_disjoint(&other.files)
    }

    /// Whether nothing ties the module to others with which it shares no file. Reads its files.
    pub fn is_untied(&self) -> bool {
        self.is_closed && !self.files.iter().any(|file| ties(file))
    }
}

impl Kinship {
    /// True if `module` shares nothing with any other of `all`. Reads files.
    pub(super) fn is_independent(&mut self, module: u32, all: &HashMap<u32, Url>) -> bool {
        let grapher = Grapher::default();
        for (id, url) in all {
            self.0.entry(*id).or_insert_with(|| kin_at(&grapher, url));
        }
        let Some(own) = self.0.get(&module) else {
            return false;
        };
        let has_no_kin = |(id, other): (&u32, &Kin)| {
            *id == module || !other.is_kin_of(own) || !all.contains_key(id)
        };
        self.0.iter().all(has_no_kin) && own.is_untied()
    }
}

fn kin_at(grapher: &Grapher, url: &Url) -> Kin {
    match url.to_file_path() {
        Ok(path) => Kin::of(&grapher.graph(&path)),
        Err(()) => Kin {
            files: BTreeSet::new(),
            is_closed: false,
        },
    }
}

/// Manifests are read by everybody and remembered by nobody.
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
        .any(|word| TYING_WORDS.contains(&word))
}
