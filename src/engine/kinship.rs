//! Whether a module can live away from the others without anybody noticing.
//!
//! Two instances of a module, or a module and the helper that it shares with another, would show a
//! tool's user two states. So a module is independent only if nothing of its graph is in another
//! module's, nothing is hidden from the graph, and no word in it means what isolates do not share
//! or what goes on by itself. In doubt it is not: it waits, which is slow but never wrong.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use url::Url;

use super::graph::Grapher;

/// What all modules of one isolate share, and what lives on beside any call.
const TYING_WORDS: [&str; 14] = [
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
];

/// What is known of modules; the answer for one module is found once.
#[derive(Default)]
pub(super) struct Kinship(HashMap<u32, Facts>);

struct Facts {
    files: BTreeSet<PathBuf>,
    is_closed: bool,
}

impl Kinship {
    /// True if `module` shares nothing with any other of `all`. Reads files.
    pub(super) fn is_independent(&mut self, module: u32, all: &HashMap<u32, Url>) -> bool {
        let grapher = Grapher::default();
        for (id, url) in all {
            self.0
                .entry(*id)
                .or_insert_with(|| Facts::of(&grapher, url));
        }
        let Some(own) = self.0.get(&module) else {
            return false;
        };
        let has_no_kin = |(id, other): (&u32, &Facts)| {
            *id == module || other.files.is_disjoint(&own.files) || !all.contains_key(id)
        };
        own.is_closed && self.0.iter().all(has_no_kin) && !own.files.iter().any(|file| ties(file))
    }
}

impl Facts {
    fn of(grapher: &Grapher, url: &Url) -> Facts {
        let Ok(path) = url.to_file_path() else {
            return Facts {
                files: BTreeSet::new(),
                is_closed: false,
            };
        };
        let graph = grapher.graph(&path);
        let is_closed = !graph.is_open();
        let files = graph.files.into_keys().filter(|file| is_code(file));
        Facts {
            files: files.collect(),
            is_closed,
        }
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
