//! The files of a trusted project that may become code, with the digest that each must have.
//!
//! Made of the user's grant, and asked wherever bytes turn into code: by the module loader, and
//! right before a program starts. Code of the user's own has none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Family;

/// The bytes of one trusted project. Knows paths and digests, and reads nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct VerifiedFiles {
    /// The project's real path.
    pub project: PathBuf,
    /// The path by which the project was reached, where that is not its real one.
    pub alias: Option<PathBuf>,
    /// What modules of the project may import, by path.
    pub modules: HashMap<PathBuf, blake3::Hash>,
    /// Its tool files: what each was trusted as.
    pub entries: HashMap<PathBuf, VerifiedEntry>,
    /// Whether modules may make code of text (`eval`, `new Function`, `node:vm`).
    pub code_from_text: CodeFromData,
    /// Whether modules may make WebAssembly of bytes that are no trusted file.
    pub code_from_bytes: CodeFromData,
}

/// Whether data may become code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeFromData {
    /// Never: the trust page did not say that modules do it.
    #[default]
    Never,
    /// While the data cannot come from a file of the project that may have changed: until such a file
    /// is opened. The trust page said that modules do it.
    UntilFilesAreRead,
    /// Always: the user allowed it by name.
    Always,
}

/// A tool file of the project as it was trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedEntry {
    /// What kind of tool it is.
    pub family: Family,
    /// The id of the provider that found it.
    pub provider: String,
    /// The digest of the file; of what it leads to, if it is a link.
    pub digest: blake3::Hash,
}

/// Why bytes must not become code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unverified {
    /// The file is not among those that were trusted.
    Unlisted,
    /// The file has other bytes than those that were trusted.
    Changed,
}

impl VerifiedFiles {
    /// Checks the digest of a file that a module imports.
    ///
    /// # Errors
    /// With the reason why it must not be loaded.
    pub fn check_module(&self, path: &Path, digest: &blake3::Hash) -> Result<(), Unverified> {
        compare(self.modules.get(self.real(path).as_ref()), digest)
    }

    /// Whether modules may import the file, as far as its path tells.
    pub fn lists(&self, path: &Path) -> bool {
        self.modules.contains_key(self.real(path).as_ref())
    }

    /// Whether any module may import bytes with this digest.
    pub fn has_digest(&self, digest: &blake3::Hash) -> bool {
        self.modules.values().any(|trusted| trusted == digest)
    }

    /// Whether the file at `path`, which is a real path, belongs to the project.
    pub fn is_of_project(&self, path: &Path) -> bool {
        path.starts_with(&self.project)
    }

    /// The tool file at `path`, as a candidate names it.
    pub fn entry(&self, path: &Path) -> Option<&VerifiedEntry> {
        self.entries.get(self.real(path).as_ref())
    }

    /// Checks the digest of the tool file at `path`, as a candidate names it.
    ///
    /// # Errors
    /// With the reason why it may not run.
    pub fn check_entry(&self, path: &Path, digest: &blake3::Hash) -> Result<(), Unverified> {
        compare(self.entry(path).map(|entry| &entry.digest), digest)
    }

    /// The path below the project's real path.
    fn real<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let alias = self.alias.as_ref();
        match alias.and_then(|alias| path.strip_prefix(alias).ok()) {
            Some(rest) => self.project.join(rest).into(),
            None => path.into(),
        }
    }
}

fn compare(trusted: Option<&blake3::Hash>, found: &blake3::Hash) -> Result<(), Unverified> {
    match trusted {
        None => Err(Unverified::Unlisted),
        Some(trusted) if trusted != found => Err(Unverified::Changed),
        Some(_) => Ok(()),
    }
}

impl Unverified {
    /// The refusal as a sentence about the file, with what the user can do.
    pub fn refusal(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Unverified::Unlisted => format!(
                "`{path}` is not part of what was trusted: `haft trust` shows what would run, \
                 and `haft call --learn` adds the files that a tool finds only while it runs"
            ),
            Unverified::Changed => format!(
                "`{path}` changed since it was trusted: `haft trust` shows what would run, and asks"
            ),
        }
    }
}
