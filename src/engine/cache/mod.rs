//! What modules said about themselves, remembered: listing tools does not start V8 when nothing
//! changed.
//!
//! An answer is believed only while everything holds that it came from: every file and place that
//! importing looked at, the variables and files that the module asked for, haft itself, the working
//! directory, the permissions. An answer that may depend on more (the time, a host, a program) is
//! never kept. The cache is a convenience: whatever is wrong with it costs time and nothing else.

mod entry;
mod shelf;
mod world;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard};

use serde_json::value::RawValue;

use super::graph::{Checker, Graph};
use super::has_several_cores;
use super::witness::Notes;
use super::{EngineOptions, snapshot};
use entry::Entry;
use shelf::Shelf;

/// So many modules are checked on two cores: fewer take less time than a thread takes to start.
const MANY: usize = 24;

/// What was remembered for one working directory and one set of options.
pub(super) struct Cache {
    shelf: Shelf,
    /// Entries that are known to be wrong, by URL, until they are written away.
    wrong: Mutex<Vec<String>>,
}

/// A module that was loaded, and what its answer came from.
pub(super) struct Fresh {
    pub(super) url: String,
    pub(super) described: String,
    pub(super) graph: Graph,
    pub(super) notes: Notes,
}

impl Cache {
    /// The cache in the folder that the options name; nothing if they name none.
    pub(super) fn open(options: &EngineOptions) -> Option<Cache> {
        let folder = options.cache.as_ref()?.join("modules");
        Some(Cache {
            shelf: Shelf::new(folder, &key(options)),
            wrong: Mutex::default(),
        })
    }

    /// What the modules with these URLs said, where that still holds.
    pub(super) fn find(&self, urls: &[String]) -> Vec<Option<String>> {
        let known = self.shelf.read();
        let check = |urls: &[String]| -> Vec<Option<String>> {
            let mut checker = Checker::default();
            let answers = urls.iter().map(|url| {
                let entry: Entry = serde_json::from_str(known.get(url)?.get()).ok()?;
                entry.holds(&mut checker).then(|| entry.described())
            });
            answers.collect()
        };
        if urls.len() < MANY || !has_several_cores() {
            return check(urls);
        }
        let (first, second) = urls.split_at(urls.len() / 2);
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| check(second));
            let mut answers = check(first);
            // A half that could not be checked is not believed.
            let nothing = |_| vec![None; second.len()];
            answers.extend(beside.join().unwrap_or_else(nothing));
            answers
        })
    }

    /// Remembers what may be remembered, and forgets the rest of what was loaded.
    pub(super) fn keep(&self, fresh: Vec<Fresh>) {
        let mut changes: BTreeMap<String, Option<Box<RawValue>>> = BTreeMap::new();
        for url in self.wrong().drain(..) {
            changes.insert(url, None);
        }
        for fresh in fresh {
            let url = fresh.url.clone();
            let entry = match Entry::of(fresh) {
                Ok(entry) => Some(entry),
                Err(why) => {
                    tracing::debug!(module = url, why, "not remembered");
                    None
                }
            };
            let text = entry.and_then(|entry| serde_json::value::to_raw_value(&entry).ok());
            changes.insert(url, text);
        }
        if let Err(error) = self.shelf.change(&changes) {
            tracing::debug!(folder = %self.shelf.folder().display(), %error, "nothing is remembered");
        }
    }

    /// What the module said is not true any more.
    pub(super) fn forget(&self, url: &str) {
        self.wrong().push(url.to_owned());
        self.keep(Vec::new());
    }

    fn wrong(&self) -> MutexGuard<'_, Vec<String>> {
        self.wrong
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// How entries are written and what they mean; a new number forgets all of them.
const FORMAT: u32 = 2;

/// Names everything besides a module itself that decides what it says.
fn key(options: &EngineOptions) -> blake3::Hash {
    let facts = serde_json::json!([
        FORMAT,
        env!("CARGO_PKG_VERSION"),
        snapshot::ID,
        program(),
        options.cwd.as_os_str().as_encoded_bytes(),
        // Where relative paths start for Node's and Deno's functions.
        std::env::current_dir()
            .unwrap_or_default()
            .as_os_str()
            .as_encoded_bytes(),
        format!(
            "{:?} {:?} {:?}",
            options.permissions, options.project.permissions, options.unasked
        ),
    ]);
    blake3::hash(facts.to_string().as_bytes())
}

/// Size and time of the running program: a build of the same version may behave differently.
fn program() -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata("/proc/self/exe").ok()?;
    Some((found.len(), found.mtime(), found.mtime_nsec()))
}
