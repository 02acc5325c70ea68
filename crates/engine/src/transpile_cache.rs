//! Cache of the compiled form of large files, by their content.
//!
//! Without it, a package of some megabytes is parsed, rewritten and compiled again in every process
//! that imports it, which takes longer than all else. Small files cost less to compile than to look
//! up, so they are not cached. A fault of the cache costs time and nothing else.
//!
//! V8 does not verify the bytecode that it is given. So a file that another user could have written
//! is ignored, and so is a damaged file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::SystemTime;

use super::snapshot;
use haft_process::StateFolder;
use haft_process::atomic_file::Durability;

/// A text shorter than this is compiled faster than it is looked up.
pub(super) const LEAST: usize = 16 << 10;

/// The largest file that is read or written.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Limits of the number of files and of their bytes together; the oldest are removed first.
const MAX_FILES: usize = 2000;
const MAX_BYTES: u64 = 512 << 20;

/// Version of the entries' format and meaning; a new number invalidates all of them.
const FORMAT: &str = "4";

/// Length of the hash in front of an entry's content.
const SEAL: usize = blake3::OUT_LEN;

/// The store in a folder of the user's cache.
pub(super) struct Compiled {
    path: PathBuf,
    folder: StateFolder,
    /// Old files are removed once in a process.
    tidied: Once,
}

/// Kind of a cached result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// JavaScript for `import`, with its source map and what it imports.
    Imported,
    /// JavaScript for `require`, with its source map.
    Required,
    /// Which of the module systems it is written in.
    Form,
    /// The names that CommonJS code exports.
    Names,
    /// V8's bytecode of JavaScript.
    Bytecode,
}

/// Key of an entry: a hash over all inputs that determine its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(blake3::Hash);

impl Compiled {
    /// Opens the store below the folder of the cache; `None` without such a folder.
    pub(super) fn open(cache: Option<&Path>) -> Option<Arc<Compiled>> {
        let path = cache?.join("compiled");
        Some(Arc::new(Compiled {
            folder: StateFolder::of_cache(path.clone()),
            path,
            tidied: Once::new(),
        }))
    }

    /// Returns an entry's content; `None` if it is missing, damaged, or not written by this user.
    pub(super) fn find(&self, key: &Key) -> Option<Vec<u8>> {
        let mut bytes = self.folder.read(&file_name(key), MAX_FILE_BYTES).ok()??;
        let (seal, body) = bytes.split_at_checked(SEAL)?;
        if blake3::hash(body).as_bytes() != seal {
            return None;
        }
        bytes.drain(..SEAL);
        Some(bytes)
    }

    /// Keeps `body` for the next process.
    pub(super) fn keep(&self, key: &Key, body: &[u8]) {
        if body.len() as u64 + SEAL as u64 > MAX_FILE_BYTES {
            return;
        }
        let mut bytes = Vec::with_capacity(SEAL + body.len());
        bytes.extend_from_slice(blake3::hash(body).as_bytes());
        bytes.extend_from_slice(body);
        let file = file_name(key);
        match self.folder.replace(&file, &bytes, Durability::Unsynced) {
            Ok(()) => self.tidied.call_once(|| tidy(&self.path)),
            Err(error) => {
                tracing::debug!(folder = %self.folder, %error, "nothing compiled is kept");
            }
        }
    }
}

/// Returns the name of the file of an entry.
fn file_name(key: &Key) -> String {
    key.0.to_hex()[..32].to_owned()
}

impl Key {
    /// Returns the key of the result of kind `kind` that this build of haft makes of `parts`.
    pub(super) fn of(kind: Kind, parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new();
        let kind = format!("{kind:?}");
        let snapshot = snapshot::ID.to_string();
        let build = [FORMAT, env!("CARGO_PKG_VERSION"), &snapshot, &kind].map(str::as_bytes);
        for part in build.iter().chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Key(hasher.finalize())
    }

    /// Returns the first eight bytes of the key as a number.
    pub(super) fn number(&self) -> u64 {
        let (first, _) = self
            .0
            .as_bytes()
            .split_first_chunk()
            .expect("a hash has 32");
        u64::from_le_bytes(*first)
    }
}

/// Removes the oldest files until the rest is within the limits.
fn tidy(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let files = entries.flatten().filter_map(|entry| {
        let found = entry.metadata().ok()?;
        let written = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        found
            .is_file()
            .then(|| (written, found.len(), entry.path()))
    });
    let mut files: Vec<_> = files.collect();
    files.sort_by(|one, other| other.cmp(one));
    let mut bytes = 0;
    for (at, (_, size, path)) in files.iter().enumerate() {
        bytes += size;
        if at >= MAX_FILES || bytes > MAX_BYTES {
            // Another process may have removed it already.
            let _ = fs::remove_file(path);
        }
    }
}
