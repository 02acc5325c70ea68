//! Inputs of a module load besides its imports, in a form that can be checked again.
//!
//! Values of variables are secrets, so only their hashes are stored.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::load_inputs::LoadTrace;

/// Inputs besides the module graph.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Inputs {
    /// Variables with the hash of their values.
    env: BTreeMap<String, Option<String>>,
    /// Hash of the names of all variables, if the module listed them.
    env_names: Option<String>,
    /// Paths with the hash of their content.
    paths: BTreeMap<PathBuf, Option<String>>,
    /// Native code with its size and time: it is too large to be read each time.
    native: BTreeMap<PathBuf, Stamp>,
}

/// Size of a file and the time of its last change, in seconds and nanoseconds.
type Stamp = (u64, i64, i64);

/// Size up to which a file is read again to compare it.
const MAX_REREAD_BYTES: u64 = 1 << 20;

impl Inputs {
    /// Collects the inputs that the notes name.
    ///
    /// # Errors
    /// When one of them cannot be checked again at a reasonable price.
    pub(super) fn of(notes: &LoadTrace, graph: &Graph) -> Result<Inputs, String> {
        let since = notes.since.unwrap_or(SystemTime::UNIX_EPOCH);
        let mut paths = BTreeMap::new();
        for path in &notes.looked {
            if was_written(path, since) {
                return Err(format!("it writes {}", path.display()));
            }
            let is_in_graph = graph.files.contains_key(path) || graph.assets.contains_key(path);
            if !is_in_graph {
                let what = what_lies_at(path);
                let what = what.ok_or_else(|| format!("it looks at {}", path.display()))?;
                paths.insert(path.clone(), what);
            }
        }
        for path in &notes.system {
            let what = what_lies_at(path);
            let what = what.ok_or_else(|| format!("it looks at {}", path.display()))?;
            paths.insert(path.clone(), what);
        }
        let mut native = BTreeMap::new();
        for path in &notes.native {
            let stamp = stamp_of(path);
            let stamp = stamp.ok_or_else(|| format!("it loads {}", path.display()))?;
            native.insert(path.clone(), stamp);
        }
        let env = notes.env.iter();
        Ok(Inputs {
            env: env.map(|name| (name.clone(), value_of(name))).collect(),
            env_names: notes.lists_env.then(names_of_variables),
            paths,
            native,
        })
    }

    /// Returns true while all inputs are unchanged.
    pub(super) fn holds(&self) -> bool {
        self.env.iter().all(|(name, was)| value_of(name) == *was)
            && self
                .env_names
                .as_ref()
                .is_none_or(|was| names_of_variables() == *was)
            && self
                .paths
                .iter()
                .all(|(path, was)| what_lies_at(path).as_ref() == Some(was))
            && self
                .native
                .iter()
                .all(|(path, was)| stamp_of(path).as_ref() == Some(was))
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.len(), found.mtime(), found.mtime_nsec()))
}

/// Returns the hash of a variable's value.
#[expect(
    clippy::disallowed_methods,
    reason = "the variables are those that a tool asked for, not haft's own"
)]
fn value_of(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(hash(&[name.as_bytes(), value.as_encoded_bytes()]))
}

fn names_of_variables() -> String {
    let mut names: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    names.sort();
    let names: Vec<_> = names.iter().map(|name| name.as_encoded_bytes()).collect();
    hash(&names)
}

/// Files' times may be this much older than the clock.
const TICK: Duration = Duration::from_millis(10);

/// Returns true if the path may have been written since: the module read it before or after.
fn was_written(path: &Path, since: SystemTime) -> bool {
    let written = std::fs::metadata(path).and_then(|found| found.modified());
    written.is_ok_and(|written| written + TICK >= since)
}

/// Returns the hash of a file's bytes or of a folder's names; `Some(None)` for a missing path.
/// Returns `None` for what cannot be compared.
fn what_lies_at(path: &Path) -> Option<Option<String>> {
    let Ok(found) = std::fs::metadata(path) else {
        return Some(None);
    };
    if found.is_dir() {
        let mut names: Vec<_> = std::fs::read_dir(path)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .collect();
        names.sort();
        let names: Vec<_> = names.iter().map(|name| name.as_encoded_bytes()).collect();
        return Some(Some(hash(&names)));
    }
    // Pipes and devices give other bytes each time, and may never end.
    if !found.is_file() || found.len() > MAX_REREAD_BYTES {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(Some(hash(&[&bytes])))
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().to_string()
}
