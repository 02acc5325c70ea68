//! Cache of module descriptions: listing tools does not start V8 when no input has changed.
//!
//! A description is used only while all of its inputs are unchanged. Inputs are the files and paths
//! that importing accessed, the variables and files that the module read, and haft itself. The
//! working directory and the permissions count, too. A description that may depend on more (the
//! time, a host, a program) is never cached. A fault of the cache costs time and nothing else.

mod entry;
mod inputs;
mod store;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard};

use serde_json::value::RawValue;

use super::graph::{Checker, Graph};
use super::has_several_cores;
use super::load_inputs::LoadTrace;
use super::{EngineOptions, snapshot};
use crate::lock;
use entry::Entry;
use store::CacheStore;

/// Number of modules from which the check uses two threads: fewer take less time than a thread
/// takes to start.
const MANY: usize = 24;

/// The cache for one working directory and one set of options.
pub(super) struct Cache {
    shelf: CacheStore,
    /// URLs of entries that are known to be wrong, until they are removed from the file.
    wrong: Mutex<Vec<String>>,
}

/// A module that was just loaded, with its description and its inputs.
pub(super) struct Fresh {
    pub(super) url: String,
    pub(super) described: String,
    pub(super) graph: Graph,
    pub(super) notes: LoadTrace,
}

impl Cache {
    /// Opens the cache in the folder that the options name; `None` if they name none.
    pub(super) fn open(options: &EngineOptions) -> Option<Cache> {
        let folder = options.cache.as_ref()?.join("modules");
        Some(Cache {
            shelf: CacheStore::new(folder, &key(options)),
            wrong: Mutex::default(),
        })
    }

    /// Returns the descriptions of the modules with these URLs, where they still hold.
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
            // If the thread panicked, its half counts as not cached.
            let nothing = |_| vec![None; second.len()];
            answers.extend(beside.join().unwrap_or_else(nothing));
            answers
        })
    }

    /// Stores the descriptions that may be cached, and removes the entries of the other `fresh`
    /// modules.
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

    /// Removes the entry of a module whose description no longer holds.
    pub(super) fn forget(&self, url: &str) {
        self.wrong().push(url.to_owned());
        self.keep(Vec::new());
    }

    fn wrong(&self) -> MutexGuard<'_, Vec<String>> {
        lock(&self.wrong)
    }
}

/// Version of the entries' format and meaning; a new number invalidates all of them.
const FORMAT: u32 = 2;

/// Returns a hash of all inputs besides the modules themselves.
fn key(options: &EngineOptions) -> blake3::Hash {
    let facts = serde_json::json!([
        FORMAT,
        env!("CARGO_PKG_VERSION"),
        snapshot::ID,
        program(),
        options.cwd.as_os_str().as_encoded_bytes(),
        // Node's and Deno's functions resolve relative paths here.
        std::env::current_dir()
            .unwrap_or_default()
            .as_os_str()
            .as_encoded_bytes(),
        options.unasked.as_str(),
    ]);
    blake3::hash(facts.to_string().as_bytes())
}

/// Returns size and time of the running program: a build of the same version may behave
/// differently.
fn program() -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata("/proc/self/exe").ok()?;
    Some((found.len(), found.mtime(), found.mtime_nsec()))
}
