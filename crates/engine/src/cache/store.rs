//! Cache file with the entries of one working directory and one set of options.
//!
//! Readers see an old file or a new one, never a part of one. Two writers at once lose entries of
//! one of them, which costs a load and nothing else. A file that another user could have written is
//! ignored, because descriptions are sent to a model.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use haft_process::StateFolder;
use haft_process::atomic_file::Durability;

/// Limit of the file's bytes: a thousand modules need about 5 MB.
const MAX_CACHE_BYTES: u64 = 32 << 20;

/// Limit of the modules in one file. Beyond it, only those that were loaded just now are kept.
const MAX_ENTRIES: usize = 1000;

/// Limit of the number of files; the oldest are removed first.
const MAX_FILES: usize = 64;

/// One file of entries: module URL → entry.
pub(super) struct CacheStore {
    path: PathBuf,
    folder: StateFolder,
    /// Name of the file in the folder.
    file: String,
}

type Entries = BTreeMap<String, Box<RawValue>>;

impl CacheStore {
    /// Returns the file for `key` in `folder`.
    pub(super) fn new(folder: PathBuf, key: &blake3::Hash) -> CacheStore {
        CacheStore {
            folder: StateFolder::of_cache(folder.clone()),
            path: folder,
            file: format!("{}.json", &key.to_hex()[..32]),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.path
    }

    /// Reads all entries. A file that is damaged or not this user's has none.
    pub(super) fn read(&self) -> Entries {
        let bytes = self.folder.read(&self.file, MAX_CACHE_BYTES);
        let entries = bytes
            .map_err(io::Error::from)
            .and_then(|bytes| match bytes {
                Some(bytes) => parse(&bytes),
                None => Ok(Entries::default()),
            });
        entries.unwrap_or_else(|error| {
            let (folder, file) = (&self.folder, &self.file);
            tracing::debug!(path = %format!("{folder}/{file}"), %error, "what was remembered is not used");
            Entries::default()
        })
    }

    /// Inserts or replaces entries, and removes those that are `None`.
    pub(super) fn change(
        &self,
        changes: &BTreeMap<String, Option<Box<RawValue>>>,
    ) -> io::Result<()> {
        let mut entries = self.read();
        let mut is_changed = false;
        for (url, entry) in changes {
            match entry {
                Some(entry) => {
                    let old = entries.insert(url.clone(), entry.clone());
                    is_changed |= old.is_none_or(|old| old.get() != entry.get());
                }
                None => is_changed |= entries.remove(url).is_some(),
            }
        }
        if !is_changed {
            return Ok(());
        }
        if entries.len() > MAX_ENTRIES {
            entries.retain(|url, _| changes.contains_key(url));
        }
        self.prune();
        self.folder
            .replace(&self.file, &sealed(&entries)?, Durability::Unsynced)
    }

    /// Removes the oldest files to make room for one more.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return;
        };
        let files = entries.flatten().filter_map(|entry| {
            let written = entry.metadata().ok()?.modified().ok()?;
            Some((written, entry.path()))
        });
        let own = self.path.join(&self.file);
        let mut files: Vec<_> = files.filter(|(_, path)| *path != own).collect();
        files.sort();
        let too_many = (files.len() + 1).saturating_sub(MAX_FILES);
        for (_, path) in &files[..too_many] {
            // Another process may have removed it already.
            let _ = fs::remove_file(path);
        }
    }
}

/// Length of the first line: a hash of the rest in hexadecimal digits.
const SEAL: usize = 64;

fn parse(bytes: &[u8]) -> io::Result<Entries> {
    let damaged = || io::Error::other("it is damaged");
    let (seal, rest) = bytes.split_at_checked(SEAL).ok_or_else(damaged)?;
    let body = rest.strip_prefix(b"\n").ok_or_else(damaged)?;
    if blake3::hash(body).to_hex().as_bytes() != seal {
        return Err(damaged());
    }
    serde_json::from_slice(body).map_err(io::Error::other)
}

fn sealed(entries: &Entries) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(entries)?;
    let seal = blake3::hash(&body).to_hex();
    let mut bytes = Vec::with_capacity(SEAL + 1 + body.len());
    bytes.extend_from_slice(seal.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(&body);
    Ok(bytes)
}
